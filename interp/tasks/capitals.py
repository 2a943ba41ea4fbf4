"""Capitals of countries, written by hand; spellings in use are alternatives."""

from __future__ import annotations

from collections.abc import Sequence

from interp.question import Kind, Question
from interp.tasks.family import Cell, Family, Knobs, chosen
from interp.tasks.task import ONE_NAME

# Left out: capitals that are disputed, shared, recently moved or renamed; names that mean two places.
_CAPITALS = {
    "africa": """
        Algeria: Algiers | Angola: Luanda | Botswana: Gaborone | Burkina Faso: Ouagadougou
        Cameroon: Yaounde, Yaoundé | Chad: N'Djamena, Ndjamena, N’Djamena | Djibouti: Djibouti, Djibouti City
        Egypt: Cairo | Eritrea: Asmara, Asmera | Ethiopia: Addis Ababa | Gabon: Libreville | Gambia: Banjul
        Ghana: Accra | Guinea: Conakry | Kenya: Nairobi | Liberia: Monrovia | Libya: Tripoli
        Madagascar: Antananarivo | Malawi: Lilongwe | Mali: Bamako | Mauritania: Nouakchott | Morocco: Rabat
        Mozambique: Maputo | Namibia: Windhoek | Niger: Niamey | Nigeria: Abuja | Rwanda: Kigali
        Senegal: Dakar | Sierra Leone: Freetown | Somalia: Mogadishu
        Togo: Lome, Lomé | Tunisia: Tunis | Uganda: Kampala | Zambia: Lusaka | Zimbabwe: Harare""",
    "americas": """
        Argentina: Buenos Aires | Bahamas: Nassau | Barbados: Bridgetown | Belize: Belmopan
        Brazil: Brasilia, Brasília | Canada: Ottawa | Colombia: Bogota, Bogotá
        Costa Rica: San Jose, San José | Cuba: Havana, La Habana | Ecuador: Quito
        El Salvador: San Salvador | Mexico: Mexico City, Ciudad de México
        Guatemala: Guatemala City, Ciudad de Guatemala | Guyana: Georgetown | Haiti: Port-au-Prince
        Honduras: Tegucigalpa | Jamaica: Kingston | Nicaragua: Managua | Panama: Panama City, Panamá City
        Paraguay: Asuncion, Asunción | Peru: Lima | Suriname: Paramaribo | Uruguay: Montevideo
        Venezuela: Caracas | Chile: Santiago, Santiago de Chile
        Dominican Republic: Santo Domingo""",
    "asia": """
        Afghanistan: Kabul | Armenia: Yerevan | Azerbaijan: Baku | Bahrain: Manama | Bangladesh: Dhaka, Dacca
        Bhutan: Thimphu, Thimpu | Cambodia: Phnom Penh | China: Beijing, Peking
        India: New Delhi | Iran: Tehran, Teheran | Iraq: Baghdad | Japan: Tokyo, Tōkyō | Jordan: Amman
        Kyrgyzstan: Bishkek | Laos: Vientiane | Lebanon: Beirut | Mongolia: Ulaanbaatar, Ulan Bator
        Nepal: Kathmandu, Katmandu | North Korea: Pyongyang, P'yongyang | Oman: Muscat | Pakistan: Islamabad
        Philippines: Manila | Qatar: Doha | Saudi Arabia: Riyadh | South Korea: Seoul | Syria: Damascus
        Tajikistan: Dushanbe | Thailand: Bangkok | Turkey: Ankara | Turkmenistan: Ashgabat, Ashkhabad
        United Arab Emirates: Abu Dhabi | Uzbekistan: Tashkent, Toshkent | Vietnam: Hanoi, Ha Noi""",
    "europe": """
        Albania: Tirana, Tirane, Tiranë | Austria: Vienna, Wien | Belarus: Minsk
        Belgium: Brussels, Bruxelles, City of Brussels | Bosnia and Herzegovina: Sarajevo | Bulgaria: Sofia
        Croatia: Zagreb | Cyprus: Nicosia | Czech Republic: Prague, Praha | Denmark: Copenhagen
        Estonia: Tallinn | Finland: Helsinki | France: Paris | Germany: Berlin | Greece: Athens
        Hungary: Budapest | Iceland: Reykjavik, Reykjavík | Ireland: Dublin | Italy: Rome, Roma | Latvia: Riga
        Lithuania: Vilnius | Luxembourg: Luxembourg, Luxembourg City | Malta: Valletta
        Moldova: Chisinau, Chișinău, Kishinev | North Macedonia: Skopje | Norway: Oslo | Poland: Warsaw
        Portugal: Lisbon, Lisboa | Romania: Bucharest | Russia: Moscow | Serbia: Belgrade
        Slovakia: Bratislava | Slovenia: Ljubljana | Spain: Madrid | Sweden: Stockholm
        Ukraine: Kyiv, Kiev | United Kingdom: London""",
    "oceania": """
        Australia: Canberra | Fiji: Suva | New Zealand: Wellington | Papua New Guinea: Port Moresby
        Samoa: Apia | Solomon Islands: Honiara | Vanuatu: Port Vila""",
}
_WITH_ARTICLE = (
    "Dominican Republic",
    "Bahamas",
    "Gambia",
    "Philippines",
    "United Arab Emirates",
    "Czech Republic",
    "United Kingdom",
    "Solomon Islands",
)


def _table(regions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Country to accepted names of its capital, the usual one first."""
    rows = (
        row
        for region in regions
        for line in _CAPITALS[region].strip().splitlines()
        for row in line.split(" | ")
    )
    pairs = (row.strip().split(": ") for row in rows)
    return {country: tuple(names.split(", ")) for country, names in pairs}


def _question(country: str, capital: tuple[str, ...]) -> Question:
    name = f"the {country}" if country in _WITH_ARTICLE else country
    return Question(
        id=f"capital/{country.lower().replace(' ', '-')}",
        text=f"What is the capital of {name}?",
        kind=Kind.TEXT,
        gold=capital,
        subject="capital",
    )


def _cells(knobs: Knobs) -> list[Cell]:
    table = _table(chosen(knobs, "region", tuple(_CAPITALS)))
    return [Cell("capital", [tuple(table)], lambda country: _question(country, table[country]))]


CAPITALS = Family(
    "The capital of a country.",
    _cells,
    knobs={"region": ("all", *_CAPITALS)},
    n=100,
    decoding=ONE_NAME,
)
