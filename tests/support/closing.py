"""Four phases of a project as they might be closed: facts, decisions with reasons, open issues."""

from typing import Final

from memory_mcp import search
from memory_mcp.domain.outcomes import SearchResults
from memory_mcp.domain.record import Kind
from memory_mcp.domain.search import Filters
from memory_mcp.engine.workspace import Workspace

__all__ = ["PHASES", "handed_on"]

Decisions = tuple[tuple[str, str], ...]

PHASES: Final[dict[int, tuple[tuple[str, ...], Decisions, tuple[str, ...]]]] = {
    1: (
        (
            "The shop sells refurbished bicycles in three countries.",
            "Orders arrive from the web shop and from two partner portals.",
            "The legacy system is a PHP monolith with 212 tables.",
            "Customers are billed in EUR, CHF and SEK.",
            "The warehouse in Malmo ships twice a day.",
            "Returns are handled by a partner in Basel.",
            "Phase 1 ran for three weeks longer than planned.",
            "The product owner is on leave in August.",
            "The old catalogue has 14,000 articles, of which 3,100 are sold out.",
            "Peak load is 40 orders a minute on the first Saturday of spring.",
            "Prices change at most once a day, at four in the morning.",
            "The partner portals send CSV over SFTP.",
        ),
        (
            ("The domain is modelled around orders", "most rules are about them"),
            ("Money is kept in integer cents", "floats lost a cent in the old shop"),
            ("English is the language of the code base", "two teams speak no German"),
        ),
        ("Nobody knows how partner discounts are computed",),
    ),
    2: (
        (
            "The login page answers in 90 ms.",
            "Password hashes take 250 ms on the smallest machine.",
            "Two of the partner portals cannot do OAuth.",
            "The staging cluster has four nodes.",
            "Sessions of the old shop live for 30 days.",
            "The session table grows by 2 GB a month.",
            "The security review is booked for the second week of March.",
            "Account recovery mails are sent through Postmark.",
            "Rate limits are 5 attempts per minute and address.",
            "The audit log keeps 400 days.",
            "Support staff impersonate customers about twice a week.",
            "The phase 2 demo was shown to the board.",
        ),
        (
            ("We build a hexagonal architecture with ports and adapters",
             "the portals change their protocols twice a year"),
            ("JWT with a lifetime of 15 minutes for the API", "a stolen token dies soon"),
            ("PostgreSQL holds the accounts", "row level security keeps the tenants apart"),
            ("Argon2id for passwords", "it resists graphics cards"),
        ),
        ("The portals still send plain passwords", "Nobody tested the recovery mails in Swedish"),
    ),
    3: (
        (
            "Carts are abandoned at 61 percent.",
            "The payment provider charges 1.4 percent.",
            "Vouchers can be combined with partner discounts.",
            "Checkout has five steps on a phone.",
            "Invoices must be kept for ten years.",
            "The tax service answers in 300 ms.",
            "Klarna is asked for by Swedish customers.",
            "The cart service is written in Go.",
            "Stock is reserved for 20 minutes.",
            "Free shipping begins at 150 EUR.",
            "Refunds take three working days.",
            "The architecture review of phase 2 took two hours.",
        ),
        (
            ("Carts rest in Redis", "they may be lost, and must be quick"),
            ("Stripe is the payment provider", "it knows all three currencies"),
            ("Checkout is decided in one transaction", "half an order helps nobody"),
        ),
        ("Vouchers are not tested with refunds",),
    ),
    4: (
        (
            "The cluster runs in Frankfurt.",
            "Deployments take eleven minutes.",
            "Grafana shows the orders per minute.",
            "Alerts go to the on-call phone.",
            "Backups are taken every six hours.",
            "The last restore test took 47 minutes.",
            "Logs are kept for 30 days.",
            "The CDN caches images for a year.",
            "Four nodes were added before Easter.",
            "Certificates renew themselves.",
            "The runbook has 12 pages.",
            "Costs are 2,300 EUR a month.",
        ),
        (
            ("Kubernetes instead of virtual machines", "releases become rollbacks for free"),
            ("Blue-green deployments", "nobody wants to wait for a rollback at night"),
        ),
        ("The restore test is not automated",),
    ),
}  # fmt: skip


async def handed_on(workspace: Workspace) -> list[str]:
    """What sessions say is true now, as far as it is visible from here."""
    summaries = Filters(kinds=frozenset[Kind]({"summary"}))
    found = await search.search_memories(workspace, "done", summaries, 10)
    assert isinstance(found, SearchResults)
    texts = (hit.record.content for hit in found.hits)
    return sorted(text for text in texts if not text.startswith("- "))
