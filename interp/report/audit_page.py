"""The page of an audit."""

from __future__ import annotations

from interp.audited import AuditRun


def write_audit_page(audited: AuditRun) -> None:
    """Writes it."""
