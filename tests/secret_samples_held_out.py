"""Labelled texts that the rules were not tuned on: the honest figure.

Written after the rules had been tuned on the ones above. The first run found 25 of 32 secrets and
spoilt 1 of 34 look-alikes: recall 0.78, precision 0.96, which is what unknown text may expect.
It laid bare two faults (a name that ends in "min", short options of a few commands), since mended.
"""
# ruff: noqa: E501, Q003 - one sample a line, quoted as it is met

from typing import Final

from secret_samples import BASE64, COMMIT, IMAGE, SHA256, SRI, WEB, Sample, caps, holding, pem, run

SECRETS_HELD_OUT: Final = (
    holding("Our CI pushes with {} (rotates monthly)", "gh", "u_", run(36)),
    holding("key id {}, region us-east-1", "AK", "IA", caps(16)),
    holding("secret access key: {}", run(40, BASE64)),
    holding("x-goog-api-key: {}", "AI", "za", run(35, WEB)),
    holding("SLACK_TOKEN='{}'", "xo", "xp-", "123456789012-123456789012-", run(32)),
    holding("npm config set //registry.npmjs.org/:_authToken {}", "np", "m_", run(36)),
    holding("groq: {}", "gs", "k_", run(52)),
    holding("Linear says {}", "lin", "_api_", run(40)),
    holding("figma {} read only", "fi", "gd_", run(40, WEB)),
    holding("CLOUDFLARE_API_TOKEN={}", run(40, WEB)),
    holding("notion integration {}", "nt", "n_", run(46)),
    holding("spring.datasource.password={}", "pg", "Secret!9"),
    holding("jdbc:postgresql://db/shop?user=shop&password={}&ssl=true", "orange", "peel"),
    holding("mysql://root:{}@127.0.0.1/shop", "to", "or"),
    holding("smtp://mailer%40example.com:{}@smtp.example.com:587", "S3nd", "Grid!"),
    holding("redis-cli -a {} ping", "r3dis", "Pass"),
    holding("sshpass -p {} ssh ada@host", "gate", "way7"),
    holding("docker login -u ada -p {} registry.example.com", "docker", "P4ss"),
    holding("$env:ADMIN_PWD = '{}'", "P@ss", "w0rd!"),
    holding("    password = {}  # in config.ini", "w1nter", "fell"),
    holding("the admin password was changed to {} yesterday", "Cobalt", "-77-Fox"),
    holding("Use the token {} to call the API", run(40)),
    holding("ada's login is ada@example.com / {}", "n0tebook", "!9"),
    holding("La contraseña del wifi es {}", "gato", "negro88"),
    holding("credentials: admin:{}", "Gr33n", "tea!"),
    holding("{}\n", pem("ENCRYPTED PRIVATE KEY")),
    holding("cookie: sessionid={}; path=/", run(32)),
    holding("The PIN of the alarm is {}", "47", "11"),
    holding("webhook_secret: \"{}\"", run(24)),
    holding("SENTRY_AUTH_TOKEN={}", "sntr", "ys_", run(80)),
    holding("{\"type\": \"service_account\", \"private_key_id\": \"x\", \"client_secret\": \"{}\"}", run(24, WEB)),
    holding("passphrase for the backup is \"{}\"", "seven purple ", "elephants"),
)  # fmt: skip

HARMLESS_HELD_OUT: Final = tuple(
    Sample(text)
    for text in (
        f"Reverted {COMMIT[:7]}..{COMMIT[8:15]} on main",
        f"etag: \"{COMMIT}\"",
        f"docker pull ghcr.io/acme/shop@sha256:{SHA256}",
        f"cargo: checksum = \"{SHA256}\"",
        f"<script src=\"a.js\" integrity=\"sha384-{SRI[:64]}\"></script>",
        f"url(data:font/woff2;base64,{IMAGE})",
        "trace 4bf92f3577b34da6a3ce929d0e0e4736, span 00f067aa0ba902b7",
        "Session 01HZX3V5K8J2M4N6P8Q0R2S4T6 was resumed",
        "password_confirmation must match password",
        "Never log passwords, tokens or API keys.",
        "The user forgot the password twice in 2025",
        "Token budget: 500 tokens; a session starts with 480",
        "secrets are mounted at /run/secrets",
        "api_key: str = Field(default=..., repr=False)",
        "api_key = settings.openai_api_key",
        "token = request.headers['Authorization'].split()[1]",
        "Authorization: Bearer <token>",
        "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.com",
        "SECRET_KEY=change-me",
        "password: hunter2 is the classic joke",
        "auth: oauth2 with PKCE",
        "keyword arguments, key=lambda item: item[1]",
        "sort by key=created_at, order=desc",
        "The author's signature: Ada Lovelace, 1843",
        "monkey=banana7, turkey: 12 kg, donkey = grey",
        "passes: 12, failures: 3, passing rate 80%",
        "We keep the cookie for 30 days; cookie: consent=accepted_v2",
        "the token bucket refills 10 per second",
        "passkey login is FIDO2; password login stays until Q3-2026",
        "https://user@example.com/a:b@c",
        "http://localhost:3000/@vite/client",
        "class PasswordResetTokenGenerator2Test extends TestCase {}",
        "the secret santa list is in sheet 2024-12",
        "<Input type={'password'} autoComplete=\"current-password\" />",
    )
)  # fmt: skip
