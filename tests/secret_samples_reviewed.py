"""Labelled texts of a hostile review: what got through, and what was destroyed without need.

They belong to the tuned set: the rules were mended by them, and by their neighbours.
"""
# ruff: noqa: E501, Q003 - one sample a line, quoted as it is met

from typing import Final

from secret_samples import BASE64, COMMIT, HEX, Sample, holding, run

SECRETS_REVIEWED: Final = (
    # settings of words
    holding("JWT_SECRET={}", "super", "secretvalue"),
    holding("SECRET_KEY={}", "change", "meplease"),
    holding("API_SECRET: {}\n", "plain", "words"),
    holding("SECRET_KEY = \"{}\"", "just", "somewords"),
    holding("password = {}", "shop", "dev"),
    holding("db.password = {}\ndb.user = shop", "shop", "dev"),
    holding("user: shop\npassword: {}\n", "ban", "ana"),
    holding("DB_PW={}", "b2b3QJ", "w8BR"),
    holding("pw: {}", "b2b3QJ", "w8BR"),
    holding("PW={}", "sun", "shine"),
    holding("- password -> {}", "b2b3QJ", "w8BR"),
    holding("password \u2192 {}", "b2b3QJ", "w8BR"),
    holding("Password (prod): {}", "95PFKY", "3iC8k3"),
    holding("Passwort (Testsystem): {}", "95PFKY", "3iC8k3"),
    holding("The password for the shop: {}", "95PFKY", "3iC8k3"),
    holding("API key (staging): {}", run(32)),
    holding("Password:\n  {}\nThanks", "95PFKY", "3iC8k3"),
    holding("Password:\n```\n{}\n```", "95PFKY", "3iC8k3"),
    # commands and addresses
    holding("mysql -u root -p{} shop", "S3cr", "et99"),
    holding("sshpass -p{} ssh ada@host", "S3cr", "et99"),
    holding("7z x -p{} backup.7z", "S3cr", "et99"),
    holding("mongosh -u root -p {} --host db", "S3cr", "et99"),
    holding("https://{}@github.com/x/y.git", run(36)),
    holding("https://{}:x-oauth-basic@github.com/x/y.git", run(40, HEX)),
    # tables
    holding("| user | password |\n|---|---|\n| admin | {} |", "Tr0ub4dor", "&3"),
    holding("| Login | Passwort | Note |\n| :-- | --- | --: |\n| ada | `{}` | old |", "wal", "fisch"),
    holding("host,user,password\ndb1,ada,{}\n", "Blue77", "moon"),
    holding("| service | API key |\n|---|---|\n| maps | {} |", run(32)),
    # phrases
    holding("login: admin / {}", "S3cr3t", "Pass!"),
    holding("ada's login is ada@example.com / {}", "n0tebook", "!9"),
    holding("Sign in as ada with {}", "N0tebook", "!9"),
    holding("Use '{}' as the API key", run(32)),
    holding("{} is our Datadog API key.", run(32)),
    holding("'{}' is the wifi password", "hunter", "2x"),
    holding("the key to the staging API is {}", run(32)),
    holding("AWS keys: AK" + "IAB2C3B2C3B2C3B2C3 / {}", run(40, BASE64)),
    holding("id AK" + "IAB2C3B2C3B2C3B2C3\nsecret {}", run(40, BASE64)),
    holding("{} goes with AS" + "IAB2C3B2C3B2C3B2C3", run(40, BASE64)),
    holding("Das Passwort f\u00fcr die Datenbank lautet {}", "qxvt", "zlmkw"),
    holding("The password is: {}.", "sun", "shine"),
    holding("The password is {} since May", "kQzW", "vRtLmXbN"),
    holding("My pass is {}", "hunter", "2x"),
    holding("user admin, pass: {}", "hunter", "2x"),
    # numbers
    holding("The PIN is {}", "48", "21"),
    holding("The PIN of the alarm is {}.", "48", "21"),
    holding("my card pin: {}", "48", "21"),
)  # fmt: skip

HARMLESS_REVIEWED: Final = tuple(
    Sample(text)
    for text in (
        # a name that is none
        "The boarding pass is LH400-22A",
        "boarding pass: LH400-22A, gate B22",
        "First pass: 3x4faster, second pass is O(n2log)",
        "PASS: TestLogin2",
        "--- PASS: TestLogin2 (0.00s)",
        "password: forgot-password flow lives in src/auth/reset2.py",
        "PIN code 560001 Bangalore",
        "GPIO pin is 1234",
        "PIN codes have 4 digits",
        "The door code is 4711",
        "Private key for RSA (Ada) [#26898](https://example.com/pull/26898)",
        "['username', 'password', 'repository', 'path2']",
        "The PIN is 4 digits long",
        "Our session key to remember is that CamelCase3Names win",
        # tags that are spoken of
        "The tag is called <private> and everything after it is dropped",
        "uses <private> generics",
        "Text between <private> and </private> is dropped",
        "Use `<private>` before and `</private>` behind it",
        # addresses that show where they go
        "postgres://user:password@localhost/db",
        "postgres://username:pass@localhost:5432/db",
        "redis://user:secret@localhost",
        "https://abcdef12345@o12345.ingest.sentry.io/42",
        "ssh://git@github.com/acme/shop-frontend-2024.git",
        # code and settings
        "self.password = entered_value",
        "if password == expected:",
        "user: string\npassword: string",
        "{user: user, password: password}",
        "fn password(&self) -> &str",
        "async fn token(id: u64) -> Result2<Token>",
        "token -> user_id2",
        "password:\n  description: the one\n  type: string",
        "password:\n  valueFrom:\n    secretKeyRef:\n      name: shop2",
        "PASSWORD=\nDB_HOST=shop2",
        "Token:\n  - has 3 parts2",
        "API_TOKEN=refresh_token",
        "DB_SECRET=db-credentials",
        "GOOGLE_APPLICATION_CREDENTIALS=service-account.json",
        "SECRET_KEY=change-me-in-production",
        "password (min 12 chars): required",
        "mysql -u root -p shop",
        "docker run -p 3306:3306 mysql -p3306:3306",
        # tables
        "| Feature | Password | Token |\n|---|---|---|\n| MFA | optional | required |",
        "| Parameter | Type |\n|---|---|\n| password | string2 |",
        "| user | password |\n|---|---|\n| ada | ******** |\n| bob | |",
        '    "key_password",\n    "server_hostname",\n    "assert_hostname",',
        "def allow(\n    change_password: bool,\n    hard_expiry: int,\n)",
        "client_request_token,\ntags=tags2,\nkms_key_id=kms_key_id2,",
        "MEMORY_SECRETS=refuse",
        "SECRET_BACKEND=vaultbackend",
        "user: ada\npassword: unchanged",
        "SHOP_API_KEY=sm_test pytest",
        "username = proxy_user\npassword = proxy_auth",
        "One, two, password\nand three, four, more words here",
        # phrases
        "login: /auth/login / POST",
        "account: acme / us-east-1",
        "Log in with Google / GitHub2 accounts",
        "signed in as ada, version2 is out",
        "Das Passwort lautet anders.",
        "The password is: required",
        "We use argon2id as the password hash",
        "sha256 is the token format",
        f"key AKIA0000 in commit {COMMIT}",
    )
)  # fmt: skip
