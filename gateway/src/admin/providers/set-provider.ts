import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { ProviderSettings } from '../../provider-config/config.ts'
import {
  findProviderRecord,
  lockProviderConfig,
  writeProviderRecord,
  type ProviderRecord,
} from '../../provider-config/provider-config-store.ts'
import { sealCredential } from '../../provider-config/sealed-credential.ts'
import { audited } from '../audit-log/audit.ts'
import { credentialHintOf, presentProviderSettings } from './present-provider.ts'
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
const assertSameOrigin = (earlier: ProviderSettings | undefined, { baseUrl }: ProviderSettings) => {
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
    const { postgres, providerConfig, credentialSecrets, parseConfig } = dependencies
    const name = call.path.name
    const { entry, apiKey } = readProviderBody(call)
    const { settings, problems } = parseConfig(name, entry)
    if (settings === undefined) throw refuseConfig(problems)

    const keyFor = (record: ProviderRecord | undefined, inFile: ProviderSettings | undefined): Sealed => {
      if (apiKey === null) return noKey
      if (apiKey !== undefined) return sealed(credentialSecrets, name, apiKey)
      if (record !== undefined && record.credential !== null) {
        assertSameOrigin(parseConfig(name, record.entry).settings, settings)
        return record
      }
      if (inFile?.apiKey !== undefined) assertSameOrigin(inFile, settings)
      return noKey
    }

    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const record = await findProviderRecord(database, name)
      const inFile = providerConfig.ofFile().providers.find((each) => each.name === name)
      const { credential, credentialHint } = keyFor(record, inFile)
      await writeProviderRecord(database, { name, entry, credential, credentialHint })
      const earlier = record === undefined ? inFile : parseConfig(name, record.entry).settings
      await audited(database, call, {
        action: 'setProvider',
        target: name,
        before: earlier && presentProviderSettings(earlier, record?.credentialHint ?? null),
        after: presentProviderSettings(settings, credentialHint),
      })
    })
    return { body: await viewProvider(postgres, name, dependencies) }
  }
