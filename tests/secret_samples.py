"""Labelled texts: what must not be stored, and what only looks like it.

Secrets are put together when the tests run, so that no scanner takes this file for a leak. The
random parts come from a seeded generator: every run has the same. `{}` of a text is the secret.
"""
# ruff: noqa: E501, Q000, Q003 - one sample a line, quoted as it is met

import base64
import hashlib
import random
import string
from dataclasses import dataclass
from typing import Final

DICE: Final = random.Random(20260131)  # noqa: S311 - samples, not keys
UPPER: Final = string.ascii_uppercase + string.digits
WORD: Final = string.ascii_letters + string.digits
WEB: Final = WORD + "-_"
BASE64: Final = WORD + "+/"
HEX: Final = "0123456789abcdef"


@dataclass(frozen=True)
class Sample:
    """A text and what of it is secret; nothing, if it only looks like it."""

    text: str
    secret: str = ""


def run(length: int, chars: str = WORD) -> str:
    """Random characters; the first is a letter and the last two are a letter and a digit."""
    return DICE.choice("abcdef") + "".join(DICE.choices(chars, k=length - 3)) + "e7"


def caps(length: int) -> str:
    return "".join(DICE.choices(UPPER, k=length))


def holding(text: str, *parts: str) -> Sample:
    secret = "".join(parts)
    return Sample(text.replace("{}", secret), secret)


def segment(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def jwt() -> str:
    header, claims = (
        segment('{"alg":"HS256","typ":"JWT"}'),
        segment('{"sub":"1234","name":"Ada"}'),
    )
    return ".".join((header, claims, run(43, WEB)))


def pem(kind: str, lines: int = 6, *, closed: bool = True, between: str = "\n") -> str:
    head = f"-----BEGIN {kind}-----"
    body = [run(64, BASE64) for _ in range(lines)]
    return between.join([head, *body, *([f"-----END {kind}-----"] if closed else [])])


SECRETS: Final = (
    # keys that are known by their form
    holding("Deploys use {} as the access key.", "AK", "IA", caps(16)),
    holding("aws_access_key_id = {}\nregion = eu-central-1", "AS", "IA", caps(16)),
    holding("aws_secret_access_key = {}", run(40, BASE64)),
    holding("AWS_SECRET_ACCESS_KEY={} terraform apply", run(40, BASE64)),
    holding("The bot clones with https://x-access-token:{}@github.com/acme/shop.git", "gh", "s_", run(36)),
    holding("export GITHUB_TOKEN={}", "gh", "p_", run(36)),
    holding("Use {} for the release job, it expires in May", "github", "_pat_", run(22), "_", run(59)),
    holding("OAuth gave us {}.", "gh", "o_", run(36)),
    holding("glab auth login --token {}", "gl", "pat-", run(20, WEB)),
    holding("runner registration: {}", "gl", "rt-", run(20, WEB)),
    holding('client = OpenAI(api_key="{}")', "sk", "-proj-", run(48, WEB)),
    holding("The old key was {} and still works", "sk", "-", run(20), "T3Blbk", "FJ", run(20)),
    holding("service account {} for CI", "sk", "-svcacct-", run(60, WEB)),
    holding("ANTHROPIC_API_KEY={}", "sk", "-ant-api03-", run(93, WEB), "AA"),
    holding("we pay OpenRouter through {}", "sk", "-or-v1-", run(64, HEX)),
    holding("deepseek works with {}", "sk", "-", run(32, HEX)),
    holding("maps: https://maps.googleapis.com/maps/api/js?key={}&v=weekly", "AI", "za", run(35, WEB)),
    holding("client secret of the web app: {}", "GOC", "SPX-", run(28, WEB)),
    holding("refresh token {}", "1/", "/0", run(40, WEB)),
    holding("Authorization: Bearer {}", "ya", "29.", run(60, WEB)),
    holding("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net", run(86, BASE64), "=="),
    holding("Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}", run(43, BASE64), "="),
    holding("https://shop.blob.core.windows.net/c?sv=2024-01-01&se=2026-01-01&sig={}", run(40), "%3D"),
    holding("The Slack bot runs as {}", "xo", "xb-", "2718281828-3141592653589-", run(24)),
    holding("app level: {}", "xa", "pp-1-", caps(11), "-4012345678901-", run(64, HEX)),
    holding("alerts go to https://hooks.slack.com/services/{}", "T", caps(8), "/B", caps(10), "/", run(24)),
    holding("stripe.api_key = '{}'", "sk", "_live_", run(24)),
    holding("STRIPE_KEY: {}", "rk", "_test_", run(24)),
    holding("Webhook signing: {}", "wh", "sec_", run(32)),
    holding("twilio key sid {}", "S", "K", run(32, HEX)),
    holding("TWILIO_AUTH_TOKEN={}", run(32, HEX)),
    holding("mails go out through {}", "S", "G.", run(22, WEB), ".", run(43, WEB)),
    holding("//registry.npmjs.org/:_authToken={}", "np", "m_", run(36)),
    holding("twine upload -u __token__ -p {}", "py", "pi-AgEIcHlwaS5vcmc", run(80, WEB)),
    holding("huggingface-cli login --token {}", "h", "f_", run(34)),
    holding("doctl auth init -t {}", "dop", "_v1_", run(64, HEX)),
    holding("The Telegram bot is {}", "7104123456", ":AA", run(33, WEB)),
    holding("discord.login('{}')", "MTE4", run(22), ".", run(6, WEB), ".", run(38, WEB)),
    holding("https://discord.com/api/webhooks/1182736455647382910/{}", run(68, WEB)),
    holding("memories are mirrored with {}", "s", "m_", run(20), "_", run(40)),
    holding("heroku: {}", "HR", "KU-", run(40, WEB)),
    holding("vault login {}", "hv", "s.", run(90, WEB)),
    holding("mailgun {}", "ke", "y-", run(32, HEX)),
    holding("mailchimp wants {}", run(32, HEX), "-us", "14"),
    holding("shopify admin: {}", "shp", "at_", run(32, HEX)),
    holding("databricks {}", "da", "pi", run(32, HEX)),
    holding("CI logs in to Docker Hub with {}", "dckr", "_pat_", run(27, WEB)),
    holding("The session was {}", jwt()),
    holding('{"access_token": "{}", "expires_in": 3600}', jwt()),
    holding("curl -H 'Authorization: Bearer {}' https://api.example.com", jwt()),
    # private keys
    holding("{}", pem("RSA PRIVATE KEY")),
    holding("deploy key:\n{}\nkeep it", pem("OPENSSH PRIVATE KEY")),
    holding("{}", pem("PGP PRIVATE KEY BLOCK")),
    holding('{"private_key": "{}\\n"}', pem("PRIVATE KEY", between="\\n")),
    holding("cut off: {}", pem("EC PRIVATE KEY", 2, closed=False)),
    # passwords in addresses
    holding("DATABASE_URL=postgres://shop:{}@db.internal:5432/shop", "tr1ckle", "Down"),
    holding("redis://:{}@cache:6379/0", run(16)),
    holding("amqp://guest:{}@mq/vhost", "p#ss", "w0rd"),
    holding("git remote set-url origin https://ada:{}@git.example.com/shop", "correct-", "horse"),
    holding("mongodb+srv://root:{}@cluster0.ab1cd.mongodb.net/?retryWrites=true", "m0ng0", "pass"),
    # assignments
    holding('password = "{}"', "hunter", "2"),
    holding("DB_PASSWORD: {}", "sword", "fish"),
    holding("MYSQL_ROOT_PASSWORD={}", "let", "mein"),
    holding("db:\n  password: {}\n  user: shop", "S0mmer", "2025!"),
    holding('"apiKey": "{}",', run(32)),
    holding("api_key={}", run(24, HEX)),
    holding("SECRET_KEY = '{}'", "django-insecure-", run(50)),
    holding("mysqldump --user root --password {} shop", "gehe1m", "nis"),
    holding("JWT_SECRET={}", run(48, HEX)),
    holding("const clientSecret = `{}`;", run(40)),
    holding("<password>{}</password>", "Qwertz", "123"),
    holding("Server=db;Database=shop;User Id=sa;Password={};Encrypt=true", "Str0ng!", "Pass"),
    holding("X-API-Key: {}", run(32)),
    holding("https://api.example.com/v1?access_token={}&limit=5", run(40)),
    holding("os.environ['SMTP_PASS'] = '{}'", "mail", "box9"),
    holding("curl -u admin:{} https://nexus.example.com", "nexus", "4711"),
    holding("encryption_key: {}", run(64, HEX)),
    holding("Authorization: Basic {}", base64.b64encode(b"ada:lovelace1815").decode()),
    # sentences
    holding("My password is {}", "hunter", "2"),
    holding("The password for the staging box is {}.", "Tr0ub4dor", "&3"),
    holding("The wifi password is '{}'", "correct horse battery ", "staple"),
    holding("Das Passwort lautet {}", "Geheim", "123!"),
    holding("Le mot de passe est {}", "soleil", "75"),
    holding("The API key for Datadog is {}", run(32, HEX)),
    holding("Log in as admin with password {}", "adm1n", "istrator"),
    holding("Password: {}", "Winter", "2024!"),
    holding("**Password:** `{}`", "blue", "whale"),
    # what the user marked
    holding("We met at noon. {} Then we shipped.", "<private>", "the salary is 80k", "</private>"),
    holding("keep {}", "<PRIVATE>", "a <private>b</private> c", "</Private>"),
    holding("keep\n{}", "<private>", "never closed, to the end"),
    holding("- fine\n- {}", "<private>", "a line opens it"),
)  # fmt: skip

COMMIT: Final = hashlib.sha1(b"a", usedforsecurity=False).hexdigest()
SHA256: Final = hashlib.sha256(b"a").hexdigest()
IMAGE: Final = base64.b64encode(bytes(DICE.randrange(256) for _ in range(240))).decode()
SRI: Final = base64.b64encode(hashlib.sha512(b"a").digest()).decode()

HARMLESS: Final = tuple(
    Sample(text)
    for text in (
        f"Fixed in commit {COMMIT}.",
        f"git checkout {COMMIT[:12]}",
        f"The image is sha256:{SHA256}",
        f"checksum {SHA256} shop.tar.gz",
        "Request 0199f0c2-7d4e-7cc1-9a55-3f0f6a1e2b77 failed",
        "key: 550e8400-e29b-41d4-a716-446655440000",
        f"![logo](data:image/png;base64,{IMAGE})",
        f'<img src="data:image/png;base64,{IMAGE}">',
        f'"integrity": "sha512-{SRI}"',
        f'"resolved": "https://registry.npmjs.org/a/-/a-1.0.0.tgz#{COMMIT}"',
        f'aiosqlite==0.22.1 --hash=sha256:{SHA256}',
        "We moved from 1.24.3-rc.1+build.5114f85 to 2.0.0",
        "Call +49 30 901820 or (555) 010-9999",
        pem("PUBLIC KEY"),
        pem("CERTIFICATE", between="\\n"),
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{run(42, BASE64)} ada@host",
        pem("PGP PUBLIC KEY BLOCK"),
        "AbstractSingletonProxyFactoryBeanImplementationV2Test",
        "src/memory_mcp/text/secrets/rules.py",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "Donaudampfschifffahrtsgesellschaftskapitänsmütze, Passwortrichtlinie, Tokenisierung",
        "pip install sk-learn scikit-learn==1.5.0",
        "The password policy: 12 characters at least",
        "password is required",
        "Password: required",
        'password: "must be at least 12 characters"',
        '{"password": "Please enter your password"}',
        "api_key = <your-key>",
        "api_key=YOUR_API_KEY",
        "OPENAI_API_KEY=sk-your-api-key-goes-here",
        "export TOKEN=${GITHUB_TOKEN}",
        "password: {{ vault_db_password }}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        'password = os.environ["DB_PASSWORD"]',
        "const token = process.env.TOKEN",
        "password = getpass.getpass()",
        "token = await fetch_token(client)",
        "secret=xxxxxxxxxxxxxxxx",
        "password=********",
        "password: changeme",
        "def login(user: str, password: str) -> None:",
        "password: Optional[str] = None",
        "self.password = password",
        "connect(user=user, password=password)",
        "if password == user.password:",
        "https://ada@git.example.com/shop.git",
        "ssh://git@github.com:22/acme/shop.git",
        "https://example.com:8080/@ada/posts",
        "postgres://user:<password>@host/db",
        "postgres://$USER:$PASSWORD@localhost/db",
        "arn:aws:s3:::shop-assets-production/images/*",
        "arn:aws:iam::123456789012:role/deploy",
        ".sk-folding-cube .sk-cube-12:before { animation: sk-foldCubeAngle 2.4s }",
        "function a(b,c){return b.d(e=>e.f0x1a2b3c)}",
        "max_tokens=4096, temperature=0.2",
        "The context is 128000 tokens; token count: 512",
        "tokens_per_second: 35.2",
        "tokenizer: cl100k_base",
        "secretary: Anna Schmidt, extension 4711",
        "The token expires after 3600 seconds",
        "token_type: bearer",
        "token_url: https://login.example.com/oauth2/token",
        "The secret to good tests is determinism",
        "The secret is that 3 of 4 caches are cold",
        "Authentication: the token is JWT-based, signed with RS256",
        "Passwords are hashed with argon2id",
        "The password is hashed with bcrypt before it is stored",
        "The password field is case-sensitive",
        "We use bearer authentication for the API",
        "id-token: write",
        "kind: Secret\nmetadata:\n  name: db-credentials",
        "secretName: shop-tls-2024",
        "password_min_length = 12",
        "PASSWORD_RESET_TIMEOUT = 259200",
        "PWD=/home/ada/project",
        "keyboard layout: us-intl, key=Enter",
        "cache_key = f'user:{user_id}:v2'",
        "primary key: order_id, foreign key: customer_2024_id",
        "The API key is stored in 1Password",
        "API key rotation every 90 days",
        "Secret Manager path projects/shop/secrets/db/versions/3",
        "The files begin with -----BEGIN RSA PRIVATE KEY----- and must not be committed",
        "Use eyJhbGciOi... as the prefix of a JWT",
        "CUDA sm_90a_tensor_core_kernel_variants_v2",
        "hf_hub_download fetches from huggingface",
        "npm_config_registry=https://registry.example.com",
        "stripe keys start with sk_live_ or sk_test_",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "the redacted key reads [redacted:github-token], password=[redacted:password]",
        "Ada's passport photo and compass are in the bypass folder, passed: 12",
        "The private key stays on the YubiKey; public_key = MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A",
        "<input type=\"password\" name=\"password\" id=\"pw1\">",
        "E=mc2, H2O, A4, B2B, i18n, k8s, 3.14159265358979323846",
        "ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 00",
        "Password reset is now done in 2 steps",
    )
)  # fmt: skip
