// Generated from the API description by `make generate`.
/** Operations without a credential ignore an `Idempotency-Key`, so they must not be repeated. */
export const NOT_REPEATABLE = new Set([
  "POST /v1/accounts",
  "POST /v1/accounts/verify-email",
  "POST /v1/password-resets",
  "POST /v1/password-resets/confirm",
  "POST /v1/sessions",
  "POST /v1/device-authorizations",
  "POST /v1/device-authorizations/token",
]);
