"""Rules."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory_mcp.text.secrets.values import later, random_looking

# ruff: noqa: E501 - a table: one kind of key, one row


Extent = Callable[[re.Match[str]], tuple[int, int] | None]
"""What of a match is the secret, or None if it is none after all."""

_START: Final = r"(?<![A-Za-z0-9])"
_SAMPLE: Final = later(r"[xX]{6}|[*.#\u2022]{3}|(?:^|[-_])your(?:[-_]|$)", re.IGNORECASE)
"""What documentation puts where a key belongs."""
_LONG_RUN: Final = later(r"(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}")
"""No name goes on for so long with a digit in it and without a break."""
_BASE64_RUN: Final = later(r"[A-Za-z0-9+/]{16}")
_KEY_LINES: Final = later(
    r"(?:(?:\s|\\[nr])++(?:[A-Za-z0-9+/=]{16,}+|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\n\\]*+))++"
    r"(?:(?:\s|\\[nr])++[A-Za-z0-9+/]{0,63}={1,2})?"
)


@dataclass(frozen=True)
class Rule:
    """One kind of secret: what it is called in a text that held it, and how it is known."""

    name: str
    hints: tuple[str, ...]
    pattern: str
    source: str
    extent: Extent


def _span(match: re.Match[str]) -> tuple[int, int]:
    return match.span("secret") if "secret" in match.re.groupindex else match.span()


def _known(match: re.Match[str]) -> tuple[int, int] | None:
    """A form that nothing else has: only a sample of documentation is let through."""
    start, end = _span(match)
    return None if _SAMPLE().search(match.string, start, end) else (start, end)


def _unlike_words(match: re.Match[str]) -> tuple[int, int] | None:
    """A short beginning that a plain name may have as well: the rest must look random."""
    span = _known(match)
    if span is None:
        return None
    rest = match.string[slice(*span)][3:]
    return span if random_looking(rest) or _LONG_RUN().search(rest) else None


def _private_key(match: re.Match[str]) -> tuple[int, int] | None:
    """To its end, or as far as lines of a key go; a mere mention of the first line is none."""
    text, kind = match.string, match["kind"]
    after = text.find("-----BEGIN", match.end())
    closing = f"-----END {kind}-----"
    end = text.find(closing, match.end(), after if after >= 0 else len(text))
    if end >= 0:
        held = _BASE64_RUN().search(text, match.end(), end)
        return (match.start(), end + len(closing)) if held else None
    lines = _KEY_LINES().match(text, match.end())
    return (match.start(), lines.end()) if lines else None


def _bot(match: re.Match[str]) -> tuple[int, int] | None:
    """A Discord token begins with the digits of the bot's id, in base64."""
    return match.span() if any(char.isdigit() for char in match.group()[24:]) else None


def _form(name: str, hints: str, pattern: str, source: str, extent: Extent = _known) -> Rule:
    return Rule(name, tuple(hints.split()), pattern, source, extent)


def _prefixed(name: str, prefixes: str, body: str, source: str, extent: Extent = _known) -> Rule:
    """The usual form: one of some beginnings, then a run of one class."""
    starts = prefixes.split()
    either = "|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    hints = " ".join(dict.fromkeys(start.lower() for start in starts))
    return _form(name, hints, f"{_START}(?:{either}){body}", source, extent)


_WORD: Final = "[A-Za-z0-9]"
_WEB: Final = "[A-Za-z0-9_-]"

FORMS: Final[tuple[Rule, ...]] = (
    _form("private-key", "private", r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?)-----", "RFC 7468, RFC 4880, OpenSSH PROTOCOL.key", _private_key),
    _form("private-key", "private-lines", r"Private-Lines: \d+(?:\r?\n[A-Za-z0-9+/=]+)+(?:\r?\nPrivate-MAC: [0-9a-f]+)?", "PuTTY manual, appendix C: PPK"),
    _prefixed("age-secret-key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", "[A-Z0-9]{30,}", "age-encryption.org/v1"),
    _prefixed("jwt", "eyJ", rf"{_WEB}{{10,}}\.{_WEB}{{4,}}\.{_WEB}*(?:\.{_WEB}{{16,}}){{0,2}}", "RFC 7519, RFC 7516"),
    _prefixed("aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])", "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"),
    _prefixed("aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS bedrock-api-key-", "[A-Za-z0-9+/=]{20,}", "docs.aws.amazon.com/bedrock: API keys"),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"[A-Za-z0-9_]{{20,}}(?:\.{_WEB}{{16,}}){{0,2}}", "docs.github.com: about authentication to GitHub, token formats"),
    _prefixed("github-token", "github_pat_", "[A-Za-z0-9_]{22,}", "docs.github.com: fine-grained personal access tokens"),
    _prefixed("gitlab-token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-", rf"{_WEB}{{20,}}(?:\.{_WORD}{{2,9}}){{0,2}}", "docs.gitlab.com/security/tokens: token prefixes"),
    _prefixed("bitbucket-token", "ATBB", f"{_WORD}{{28,}}", "support.atlassian.com/bitbucket-cloud: app passwords"),
    _prefixed("atlassian-token", "ATATT3 ATCTT3", "[A-Za-z0-9_=-]{50,}", "support.atlassian.com: API tokens"),
    _prefixed("anthropic-key", "sk-ant-", f"{_WEB}{{20,}}", "docs.anthropic.com/en/api: authentication"),
    _prefixed("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_WEB}{{20,}}", "platform.openai.com/docs/api-reference: authentication"),
    _prefixed("openrouter-key", "sk-or-v1- sk-or-", f"{_WORD}{{32,}}", "openrouter.ai/docs: authentication"),
    _prefixed("openai-key", "sk-", f"{_WORD}{{40,}}", "platform.openai.com/docs/api-reference: keys before projects"),
    _prefixed("api-key", "sk- pk-lf- sk-lf-", f"{_WEB}{{20,}}", "the form that DeepSeek, LiteLLM, Langfuse and others took from OpenAI", _unlike_words),
    _prefixed("xai-key", "xai-", f"{_WORD}{{40,}}", "docs.x.ai: API keys"),
    _prefixed("groq-key", "gsk_", f"{_WORD}{{40,}}", "console.groq.com/docs"),
    _prefixed("perplexity-key", "pplx-", f"{_WORD}{{40,}}", "docs.perplexity.ai"),
    _prefixed("replicate-token", "r8_", f"{_WORD}{{30,}}", "replicate.com/docs/reference/http", _unlike_words),
    _prefixed("tavily-key", "tvly-", f"{_WEB}{{20,}}", "docs.tavily.com", _unlike_words),
    _prefixed("langsmith-key", "lsv2_pt_ lsv2_sk_", "[a-f0-9_]{30,}", "docs.smith.langchain.com: API keys"),
    _prefixed("pinecone-key", "pcsk_", "[A-Za-z0-9_]{40,}", "docs.pinecone.io: API keys"),
    _prefixed("huggingface-token", "hf_ api_org_", f"{_WORD}{{30,}}", "huggingface.co/docs/hub/security-tokens"),
    _prefixed("supermemory-key", "sm_", f"{_WEB}{{20,}}", "supermemory.ai/docs: authentication", _unlike_words),
    _prefixed("google-api-key", "AIza", f"{_WEB}{{30,}}", "cloud.google.com/docs/authentication/api-keys"),
    _prefixed("google-oauth", "GOCSPX- ya29. 1//0", f"{_WEB}{{20,}}", "developers.google.com/identity/protocols/oauth2"),
    _form("azure-key", "accountkey sharedaccesskey", r"(?i:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{30,}={0,2})", "learn.microsoft.com/azure/storage: connection strings"),
    _form("azure-sas", "sig=", r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/=_-]{30,})", "learn.microsoft.com/azure/storage: shared access signatures"),
    _form("azure-client-secret", "q~", rf"{_START}{_WORD}{{3}}\dQ~[A-Za-z0-9_.~-]{{31,34}}", "learn.microsoft.com/entra: client secrets"),
    _prefixed("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxe.xoxp- xoxe.xoxb- xoxc- xoxd- xapp- xwfp-", "[A-Za-z0-9%-]{10,}", "api.slack.com/authentication/token-types"),
    _form("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,})", "api.slack.com/messaging/webhooks"),
    _prefixed("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", f"{_WORD}{{10,}}", "docs.stripe.com/keys"),
    _prefixed("webhook-secret", "whsec_", "[A-Za-z0-9+/=]{20,}", "docs.stripe.com/webhooks, standardwebhooks.com"),
    _prefixed("twilio-key", "SK", "[0-9a-f]{32}(?![A-Za-z0-9])", "twilio.com/docs/iam/api-keys"),
    _prefixed("sendgrid-key", "SG.", rf"{_WEB}{{16,}}\.{_WEB}{{16,}}", "twilio.com/docs/sendgrid: API keys"),
    _prefixed("mailgun-key", "key-", "[0-9a-f]{32}(?![A-Za-z0-9])", "documentation.mailgun.com"),
    _form("mailchimp-key", "-us", rf"{_START}[0-9a-f]{{32}}-us\d{{1,2}}(?![A-Za-z0-9])", "mailchimp.com/developer: API keys"),
    _prefixed("brevo-key", "xkeysib- xsmtpsib-", "[a-f0-9]{40,}", "developers.brevo.com"),
    _prefixed("npm-token", "npm_", f"{_WORD}{{30,}}", "docs.npmjs.com/about-access-tokens"),
    _prefixed("pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", f"{_WEB}{{20,}}", "pypi.org/help: API tokens (macaroons)"),
    _prefixed("rubygems-key", "rubygems_", "[a-f0-9]{40,}", "guides.rubygems.org/api-key-scopes"),
    _prefixed("docker-token", "dckr_pat_ dckr_oat_", f"{_WEB}{{20,}}", "docs.docker.com/security/for-developers/access-tokens"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{40,}", "docs.digitalocean.com/reference/api"),
    _prefixed("cloudflare-token", "cfk_ cfut_ cfat_", f"{_WEB}{{36,}}", "developers.cloudflare.com/fundamentals/api/get-started/token-formats"),
    _prefixed("heroku-key", "HRKU-", f"{_WEB}{{30,}}", "devcenter.heroku.com: platform API tokens"),
    _prefixed("vault-token", "hvs. hvb. hvr.", f"{_WEB}{{20,}}", "developer.hashicorp.com/vault: tokens"),
    _form("terraform-token", ".atlasv1.", rf"{_START}{_WORD}{{14}}\.atlasv1\.{_WEB}{{40,}}", "developer.hashicorp.com/terraform/cloud-docs: API tokens"),
    _prefixed("databricks-token", "dapi", "[a-f0-9]{32}(?:-\\d)?(?![A-Za-z0-9])", "docs.databricks.com: personal access tokens"),
    _prefixed("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9._-]{30,}", "docs.doppler.com/reference/auth-token-formats"),
    _prefixed("grafana-token", "glsa_ glc_", "[A-Za-z0-9_+/=]{30,}", "grafana.com/docs: service account tokens"),
    _prefixed("newrelic-key", "NRAK- NRAL- NRJS- NRII-", f"{_WEB}{{20,}}", "docs.newrelic.com: API keys"),
    _prefixed("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9+/=_-]{40,}", "docs.sentry.io/account/auth-tokens"),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", "[a-fA-F0-9]{30,}", "shopify.dev: access tokens"),
    _prefixed("square-token", "sq0atp- sq0csp- EAAAE", f"{_WEB}{{22,}}", "developer.squareup.com: access tokens"),
    _prefixed("linear-key", "lin_api_ lin_oauth_", f"{_WORD}{{30,}}", "linear.app/developers"),
    _prefixed("notion-token", "ntn_ secret_", f"{_WORD}{{40,}}", "developers.notion.com/docs/authorization"),
    _prefixed("figma-token", "figd_ figo_ figu_", f"{_WEB}{{30,}}", "figma.com/developers/api: authentication"),
    _prefixed("airtable-token", "pat", rf"{_WORD}{{14}}\.[a-f0-9]{{64}}", "airtable.com/developers/web: personal access tokens"),
    _prefixed("postman-key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}", "learning.postman.com: API keys"),
    _prefixed("supabase-key", "sbp_ sb_secret_", "[A-Za-z0-9_-]{20,}", "supabase.com/docs/guides/api/api-keys"),
    _prefixed("planetscale-key", "pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_.=-]{30,}", "planetscale.com/docs: service tokens"),
    _prefixed("tailscale-key", "tskey-", f"{_WEB}{{20,}}", "tailscale.com/kb: key prefixes"),
    _prefixed("netlify-token", "nfp_", f"{_WORD}{{30,}}", "docs.netlify.com: personal access tokens"),
    _prefixed("fly-token", "fo1_ fm2_ fm1r_", "[A-Za-z0-9_+/=-]{30,}", "fly.io/docs/security/tokens"),
    _prefixed("pulumi-token", "pul-", "[a-f0-9]{40}", "pulumi.com/docs: access tokens"),
    _prefixed("circleci-token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9_]{40,}", "circleci.com/docs/managing-api-tokens"),
    _prefixed("dropbox-token", "sl.u. sl.", f"{_WEB}{{60,}}", "developers.dropbox.com/oauth-guide"),
    _prefixed("1password-token", "ops_eyJ", "[A-Za-z0-9+/=_-]{40,}", "developer.1password.com/docs/service-accounts"),
    _form("telegram-token", ":a", rf"{_START}\d{{8,10}}:AA{_WEB}{{32,34}}(?![A-Za-z0-9])", "core.telegram.org/bots/api: authorizing your bot"),
    _form("discord-token", ".", rf"{_START}[MNO][ADgjQTwz]{_WEB}{{21,26}}\.{_WEB}{{6}}\.{_WEB}{{27,}}", "discord.com/developers/docs/reference: authentication", _bot),
    _form("discord-webhook", "/webhooks/", rf"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{{15,20}}/(?P<secret>{_WEB}{{40,}})", "discord.com/developers/docs/resources/webhook"),
    _form("teams-webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{60,})", "learn.microsoft.com/microsoftteams: incoming webhooks"),
    _prefixed("ethereum-key", "PRIVATE_KEY=0x private_key=0x", "[0-9a-fA-F]{64}", "ethereum.org/developers/docs/accounts"),
)  # fmt: skip
"""In the order of precedence: of two that name the same stretch, the first gives its name."""
