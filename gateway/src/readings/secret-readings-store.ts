/** The age of secrets, for metrics. Secrets of the environment and of PROVIDERS_FILE have no time that is known. */
import type { Database } from '../platform/postgres.ts'

export interface SecretAges {
  operatorKey: number | null
  providerCredentials: number | null
}

/** When a secret was last changed, which the audit log knows; otherwise its row is as old. */
const changedAt = (target: string, action: string) =>
  `(select max(a.at) from audit_log a where a.target = ${target} and ${action})`

/**
 * The seconds since the oldest secret in use was created or changed; null if there is none. An old secret of a rotated key
 * soon expires.
 */
export const readSecretAges = async (database: Database): Promise<SecretAges> => {
  const { rows } = await database.query<SecretAges & Record<string, unknown>>(
    `select (select max(extract(epoch from now() - greatest(k.created_at, ${changedAt('k.id::text', `a.action = 'rotateKey'`)})))
               from keys k
              where k.kind = 'admin' and k.deleted_at is null and k.disabled_at is null and not k.is_old_secret
                and (k.expires_at is null or k.expires_at > now()))::double precision as "operatorKey",
            (select max(extract(epoch from now() - coalesce(
                      ${changedAt('p.name', `a.action = 'setProvider' and a.after ->> 'credential_hint' is distinct from a.before ->> 'credential_hint'`)},
                      p.updated_at)))
               from provider_configs p
              where p.credential is not null and p.removed_at is null)::double precision as "providerCredentials"`,
  )
  return rows[0] ?? { operatorKey: null, providerCredentials: null }
}
