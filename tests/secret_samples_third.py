"""Labelled texts of a third round, written after the finds of a review had been mended.

Judged once, the rules found 25 of 32 secrets and spoilt none of 32 look-alikes: recall 0.78,
precision 1.00. Written by whoever had just mended the rules, so somewhat kind to them. What it laid
bare was mended since (`pass=…` behind a word, "key for … ->", recovery codes, the combination of a
safe, basic auth); one is left.
"""
# ruff: noqa: E501, Q003 - one sample a line, quoted as it is met

from typing import Final

from secret_samples import BASE64, COMMIT, HEX, SHA256, WEB, Sample, caps, holding, pem, run

SECRETS_THIRD: Final = (
    holding("we rotated the stripe key, it's {} now", "rk", "_live_", run(30)),
    holding("kubectl create secret generic db --from-literal=password={}", "wolke", "Sieben7"),
    holding("Router admin page: 192.168.0.1, user admin, password {}", "fritz", "4040"),
    holding("WiFi: ssid=Nest5G pass={}", "kaffee", "klatsch"),
    holding("gitlab CI variable DEPLOY_TOKEN is {}", "gl", "dt-", run(20, WEB)),
    holding("export PGPASSWORD={}; psql -h db shop", "elefant", "en"),
    holding("ssh root@10.0.0.4 with password `{}`", "toor", "2024!"),
    holding("for the NAS it's user ada, pw {}", "Disk", "station5"),
    holding("{\n  \"user\": \"ada\",\n  \"password\": \"{}\"\n}", "mond", "licht"),
    holding("server:\n  auth:\n    username: shop\n    password: {}\n", "frueh", "ling"),
    holding("Remember my bank PIN: {}", "77", "13"),
    holding("new api key for weather service -> {}", run(32, HEX)),
    holding("I set the root password to {} on the new box", "Gr4nit", "fels"),
    holding("curl -H 'X-Auth-Token: {}' https://api.internal/v2", run(28)),
    holding("OPENAI_API_KEY: {}", "sk", "-proj-", run(60, WEB)),
    holding("AWS_SECRET_ACCESS_KEY {} belongs to the backup user", run(40, BASE64)),
    holding("The license server wants Basic auth: {}", "ada:", "kolibri99"),
    holding("sudo password on the laptop = {}", "1234", "qwer"),
    holding("ftp://deploy:{}@ftp.example.com/www", "upload", "2me"),
    holding("The deploy user logs in with deploy:{}", "N1ght", "ly!build"),
    holding("Mein Passwort ist {}", "Sonnen", "blume22"),
    holding("Kennwort: {}", "Ha53n", "fuss"),
    holding("keystore.password={}", "change", "it99"),
    holding("echo {} | docker login -u ada --password-stdin", "dckr", "_pat_", run(27, WEB)),
    holding("| Env | DB user | DB password |\n|-----|---------|-------------|\n| dev | shop | {} |", "dev", "pw!77"),
    holding("2FA recovery codes: {}", "8f3k-29dm", " 7h2l-p0xq"),
    holding("the webhook secret ends up as {} in vault", run(36)),
    holding("my ssh key:\n{}", pem("OPENSSH PRIVATE KEY", 3)),
    holding("django SECRET_KEY: '{}'", run(20), "$%", run(20)),
    holding("safe combination is {}", "31-07", "-22"),
    holding("jira token for ada: {}", "AT", "ATT3", run(80, WEB)),
    holding("id {} for the uploader", "AK", "IA", caps(16)),
)  # fmt: skip

HARMLESS_THIRD: Final = tuple(
    Sample(text)
    for text in (
        "Ada prefers passkeys over passwords and uses 1Password for both.",
        "The login page is at /users/sign_in and posts to /sessions/new2",
        "Auth: session cookie first, JWT second, API key last",
        f"The release was built from {COMMIT} on 2026-01-04",
        f"Layer sha256:{SHA256[:20]} is cached",
        "The token limit of the model is 200000 tokens",
        "We renamed API_KEY to SHOP_API_KEY in v2.3.1",
        "Set PASSWORD_MIN_LENGTH=14 and PASSWORD_HASHERS=argon2",
        "The user table has the columns id, email, password_hash and created_at",
        "secret: false",
        "Key Vault: kv-shop-prod-weu-01",
        "export AWS_PROFILE=shop-prod AWS_REGION=eu-central-1",
        "const token = await getToken(user.id, { ttl: 3600 })",
        "    password = validated_data.pop('password')",
        "token = secrets.token_urlsafe(32)",
        "Password: see the vault entry shop/prod/db",
        "Reset the password after 3 failed logins within 15 minutes",
        "Her season pass is number 2024-118 and it is valid until May",
        "The test pass rate was 97.5% on run 20260104.3",
        "| Field | Type | Secret |\n|---|---|---|\n| name | string | no |\n| token | string | yes |",
        "Order no. 2026-000471, tracking 1Z999AA10123456784",
        "Use conventional commits, e.g. fix(auth): rotate token2 handling",
        "The primary key is a ULID such as 01J9ZQ3V5K8J2M4N6P8Q0R2S4T",
        "ssh-keygen -t ed25519 -C ada@example.com",
        "The key insight is that Postgres16 handles it",
        "user: ada, role: admin, team: platform2",
        "https://docs.example.com/auth/tokens?version=2024-10-01#bearer-token",
        "The PIN pad is on the left, pin 12 is ground",
        "login: anna.schmidt@example.com / Berlin office",
        "Passwort: siehe Tresor, Eintrag 12",
        "The <private> keyword of Java is not what the tag is about",
        "docker run -e POSTGRES_PASSWORD=$PW -p 5432:5432 postgres:16",
    )
)  # fmt: skip
