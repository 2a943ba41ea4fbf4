"""The same sweep made by this package and by others, side by side: time, memory, and what bounds them."""
