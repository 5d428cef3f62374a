"""Scrape: one attempt at one provider, and what became of it. A snapshot is visible only through its row here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from schemas.offer import ORIGINS
from schemas.record import column

VERDICTS = ("accepted", "accepted_with_warnings", "quarantined", "failed", "rejected")
ACCEPTED = ("accepted", "accepted_with_warnings")
ERROR_CLASSES = (
    "Blocked",
    "RobotsDisallowed",
    "LoginWall",
    "LayoutChanged",
    "SchemaDrift",
    "Empty",
    "AuthMissing",
    "Truncated",
    "TimedOut",
    "HttpError",
    "NetworkError",
    "SpiderError",
    "BrowserMissing",
    "InternalError",
)


@dataclass(slots=True, kw_only=True)
class Scrape:
    """One row per verdict: a quarantined scrape that is accepted later has a second row with a later `recorded_at`."""

    scrape_id: str = column("string", "Identity of the attempt.", required=True)
    provider: str = column("string", "Slug of the provider.", required=True)
    run_id: str | None = column("string", "The refresh that the attempt belonged to.")
    scheduled_at: datetime | None = column("instant", "When the run was due.", unit="UTC")
    observed_at: datetime = column("instant", "When the provider was asked.", unit="UTC", required=True)
    recorded_at: datetime = column("instant", "When this verdict was given.", unit="UTC", required=True)
    duration_s: float | None = column("float64", "Time that the attempt took.", unit="s", low=0.0)
    origin: str = column("string", "live, recording or import.", required=True, choices=ORIGINS)
    access: str | None = column("string", "Which way in was used: open, or the name of the key variable.")
    verdict: str = column("string", "What became of it.", required=True, choices=VERDICTS)
    checks: str | None = column("string", "JSON list: each check of the gate with its number, bound and outcome.")
    error_class: str | None = column("string", "Kind of failure.", choices=ERROR_CLASSES)
    error: str | None = column("string", "The failure in one line.")
    note: str | None = column("string", "Why a person or a rule gave this verdict.")
    offers: int = column("int64", "Rows of the snapshot.", required=True, low=0)
    rejects: int = column("int64", "Records that could not be read.", required=True, low=0)
    withheld: int = column("int64", "Rows held back by the gate.", required=True, low=0)
    unmapped: str | None = column("string", "JSON object: unknown accelerator words and how often they came.")
    rejected: str | None = column(
        "string", "JSON list: the first records that could not be read, each with its reason."
    )
    requests: int | None = column("int64", "Requests made.", low=0)
    response_bytes: int | None = column("int64", "Bytes received.", unit="B", low=0)
    recording_sha256: str | None = column("string", "SHA-256 of the recording.")
    schema_version: int = column("int32", "Version of the Offer.", required=True)
    code_version: str | None = column("string", "Version of gpufare.")
    parser_version: str | None = column("string", "Hash of the spider's source and of what it stands on.")
    normaliser_version: str | None = column("string", "Hash of the normaliser and its tables.")
    facts_version: str | None = column("string", "Hash of the facts.")
    supersedes: str | None = column("string", "Scrape that this one restates.")
