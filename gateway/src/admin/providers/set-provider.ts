import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import {
  findProviderRecord,
  lockProviderConfig,
  writeProviderRecord,
  type ProviderRecord,
} from '../../provider-config/provider-config-store.ts'
import { sealCredential } from '../../provider-config/sealed-credential.ts'
import { audited } from '../audit-log/audit.ts'
import { credentialHintOf, presentProviderConfig } from './present-provider.ts'
import { readProviderBody } from './read-provider-body.ts'
import { refuseConfig } from './refuse-config.ts'
import { viewProvider, type ProviderDependencies } from './view-providers.ts'

type Sealed = Pick<ProviderRecord, 'credential' | 'credentialHint'>

const noKey: Sealed = { credential: null, credentialHint: null }

const sealed = (secrets: Secret[], name: string, apiKey: Secret): Sealed => {
  const credential = sealCredential(secrets, name, apiKey)
  if (credential === undefined) {
    throw new ApiError('conflict', {
      param: 'api_key',
      message:
        'Keys of providers cannot be kept without CREDENTIAL_SECRETS. Set it to what `openssl rand -hex 32` prints for every process and start them anew, or give the key in PROVIDERS_FILE.',
    })
  }
  return { credential, credentialHint: credentialHintOf(apiKey) }
}

/** A key that nobody sends along now is sent only where it was sent before: whoever moves a provider must know its key. */
const assertSameOrigin = (earlier: ProviderConfig | undefined, { baseUrl }: ProviderConfig) => {
  if (earlier !== undefined && URL.parse(earlier.baseUrl)?.origin === URL.parse(baseUrl)?.origin) return
  throw new ApiError('invalid_parameter', {
    param: 'api_key',
    message:
      "'api_key' must be given when 'base_url' leads elsewhere than before: a key is never sent to an address that it was not given for. Null takes the key away.",
  })
}

export const setProvider =
  (
    dependencies: ProviderDependencies & { postgres: Postgres },
  ): Handler<typeof adminOperations.setProvider> =>
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
      await audited(database, call, {
        action: 'setProvider',
        target: name,
        before: earlier && presentProviderConfig(earlier, record?.credentialHint ?? null),
        after: presentProviderConfig(config, credentialHint),
      })
    })
    return { body: await viewProvider(postgres, name, dependencies) }
  }
