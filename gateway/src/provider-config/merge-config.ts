/** What operators set up in the record, over what the file says. */
import type { Protocol } from '../providers/kit/protocol.ts'
import { placeText, type Problem } from './config-reader.ts'
import type { ModelSettings, ProviderSettings, ProviderConfig } from './config.ts'
import { parseModelConfig, routedTo } from './model-config.ts'
import type { Entries, ProviderEntryConfig } from './provider-config-store.ts'
import { parseProviderConfig } from './provider-config.ts'

interface Known {
  protocols: Record<string, Protocol>
  knownModels: string[]
}

const told = (place: string[], problems: Problem[]): string[] =>
  problems.map(({ path, message }) => `${placeText([...place, ...path])} ${message}`)

/** The file's key goes on counting, but is never sent to another place than the one the file names. */
const keyOfFile = ({ baseUrl }: ProviderSettings, inFile: ProviderSettings | undefined) =>
  inFile !== undefined && new URL(baseUrl).origin === new URL(inFile.baseUrl).origin
    ? inFile.apiKey
    : undefined

/** Providers of the file keep their place, so that the first of them stays the first. */
const mergeProviders = (file: ProviderSettings[], record: ProviderEntryConfig[], { protocols }: Known) => {
  const merged = new Map(file.map((settings) => [settings.name, settings]))
  const problems: string[] = []
  for (const { name, entry, apiKey, isSealedShut, isRemoved } of record) {
    const inFile = merged.get(name)
    // Taken out of the record, it is the file's again.
    if (isRemoved && inFile !== undefined) continue
    const { settings, problems: found } = parseProviderConfig(name, entry, protocols)
    problems.push(...told(['providers', name], found))
    if (isSealedShut) {
      problems.push(
        `providers.${name} has a key that none of CREDENTIAL_SECRETS opens: list the secret it was set under, or set its key again`,
      )
    }
    if (settings !== undefined) {
      // Without its key it could only fail at what it is given.
      const isEnabled = settings.isEnabled && !isRemoved && !isSealedShut
      merged.set(name, { ...settings, apiKey: apiKey ?? keyOfFile(settings, inFile), isEnabled })
    } else if (inFile !== undefined) {
      // Somebody wanted it otherwise than the file has it; as long as nobody knows how, it takes nothing new.
      merged.set(name, { ...inFile, isEnabled: false })
    }
  }
  return { providers: [...merged.values()], problems }
}

const definedOf = <Settings extends object>(settings: Settings): Partial<Settings> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<Settings>

/** Settles which setup counts. An entry of the record that cannot be used stops no other. */
export const mergeConfig = (
  file: ProviderConfig,
  record: Entries,
  known: Known,
): { providerConfig: ProviderConfig; problems: string[] } => {
  const { providers, problems } = mergeProviders(file.providers, record.providers, known)
  const names = providers.map(({ name }) => name)
  const models: Record<string, ModelSettings> = { ...file.models }
  for (const [id, entry] of Object.entries(record.models)) {
    const { settings, problems: found } = parseModelConfig(id, entry, {
      providers: [...names, ...routedTo(entry).filter((name) => name !== undefined)],
      knownModels: known.knownModels,
    })
    problems.push(...told(['models', id], found))
    if (settings === undefined) continue
    // A route to nowhere is left out. The model does not fall to somebody else where none is left.
    const routes = settings.routes?.filter(({ provider }) => names.includes(provider))
    for (const { provider } of settings.routes ?? []) {
      if (!names.includes(provider))
        problems.push(`models.${id} has a route to ${provider}, which is not there`)
    }
    const inFile = models[id]
    const changed = { ...settings, routes }
    models[id] = inFile === undefined ? changed : { ...inFile, ...definedOf(changed) }
  }
  return { providerConfig: { providers, models }, problems }
}
