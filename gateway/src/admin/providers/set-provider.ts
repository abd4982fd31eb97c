import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Postgres } from '../../platform/postgres.ts'
import { sealSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import {
  findProviderRecord,
  lockProviderConfig,
  writeProviderRecord,
  type ProviderRecord,
} from '../../provider-config/provider-config-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { credentialHintOf, presentProviderConfig } from './present-provider.ts'
import { readProviderBody } from './read-provider-body.ts'
import { refuseConfig } from './refuse-config.ts'
import { viewProvider, type ProviderDependencies } from './view-providers.ts'

type Sealed = Pick<ProviderRecord, 'credential' | 'credentialHint'>

const noKey: Sealed = { credential: null, credentialHint: null }

const sealed = (secrets: Secret[], name: string, apiKey: Secret): Sealed => {
  const credential = sealSecret(secrets, { purpose: 'provider credential', name }, apiKey)
  if (credential === undefined) {
    throw new ApiError('conflict', {
      param: 'api_key',
      message:
        'Provider keys cannot be stored without CREDENTIAL_SECRETS. Set it to the output of `openssl rand -hex 32` for every process and restart, or put the key into PROVIDERS_FILE.',
    })
  }
  return { credential, credentialHint: credentialHintOf(apiKey) }
}

/** A stored key is only sent to the origin it was set for. To change the origin, the operator must send the key again. */
const assertSameOrigin = (earlier: ProviderConfig | undefined, { baseUrl }: ProviderConfig) => {
  if (earlier !== undefined && URL.parse(earlier.baseUrl)?.origin === URL.parse(baseUrl)?.origin) return
  throw new ApiError('invalid_parameter', {
    param: 'api_key',
    message:
      "'api_key' is required when 'base_url' changes to another origin, because the stored key is never sent to a new address. Use null to remove the key.",
  })
}

export const setProvider =
  (
    dependencies: ProviderDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.setProvider> =>
  async (call) => {
    const { postgres, liveConfig, credentialSecrets, parseConfig } = dependencies
    const name = call.path.name
    const { config: raw, apiKey } = readProviderBody(call)
    const { config, problems } = parseConfig(name, raw)
    if (config === undefined) throw refuseConfig(problems)

    const keyFor = (record: ProviderRecord | undefined, inFile: ProviderConfig | undefined): Sealed => {
      if (apiKey === null) return noKey
      if (apiKey !== undefined) return sealed(credentialSecrets, name, apiKey)
      if (record !== undefined && record.credential !== null) {
        assertSameOrigin(parseConfig(name, record.config).config, config)
        return record
      }
      if (inFile?.apiKey !== undefined) assertSameOrigin(inFile, config)
      return noKey
    }

    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const record = await findProviderRecord(database, name)
      const inFile = liveConfig.fileConfig().providers.find((each) => each.name === name)
      const { credential, credentialHint } = keyFor(record, inFile)
      await writeProviderRecord(database, { name, config: raw, credential, credentialHint })
      const earlier = record === undefined ? inFile : parseConfig(name, record.config).config
      await call.audit(database, {
        action: 'setProvider',
        target: name,
        before: earlier && presentProviderConfig(earlier, record?.credentialHint ?? null),
        after: presentProviderConfig(config, credentialHint),
      })
    })
    return { body: await viewProvider(postgres, name, dependencies) }
  }
