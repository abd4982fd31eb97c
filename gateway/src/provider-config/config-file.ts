import { didYouMean } from '../platform/text/nearest-name.ts'
/**
 * Reads the YAML file of providers and models. All problems are reported at once, each with its line. Secrets can stay
 * outside of the file: `${env:NAME}` is replaced by a variable and `${file:/path}` by the content of a file.
 */
import type { Protocol } from '../providers/kit/protocol.ts'
import type { FileConfig, ProviderConfig } from './config.ts'
import { createModelCache } from './model-cache.ts'
import { parseModels } from './parse-models.ts'
import { createYamlParser } from './parse-yaml.ts'
import { parseProviderConfig } from './provider-config.ts'
import { formatPath, isMapping, type Problem, type RawConfig } from './validate-config.ts'

/** The file is not valid. Each problem is one line of text. */
export class ConfigFileError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export interface ConfigContext {
  protocols: Record<string, Protocol>
  /** The settings of the models that exist without the file. */
  models: Record<string, RawConfig>
  environment: Partial<Record<string, string>>
  /** Reads a whole file, or throws. Every file that the configuration depends on is read through it. */
  readText: (path: string) => string
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? 'unknown error'

/** The built-in provider, used if no providers are configured. */
const builtInProvider = (protocols: Record<string, Protocol>): ProviderConfig => {
  const raw = { kind: 'local', slots: 200, pollIntervalMsMin: 500, pollIntervalMsMax: 5_000 }
  const { config, problems } = parseProviderConfig('local', raw, protocols)
  if (config === undefined) throw new Error(`the built-in provider is invalid: ${JSON.stringify(problems)}`)
  return config
}

/** The configuration without a file: the built-in provider serves the models that exist without one. */
export const builtInConfig = ({
  protocols,
  models,
}: Pick<ConfigContext, 'protocols' | 'models'>): FileConfig => {
  const provider = builtInProvider(protocols)
  const { problems, ...parsed } = parseModels(models, {}, [provider.name])
  if (problems.length > 0) throw new Error(`the built-in models are invalid: ${JSON.stringify(problems)}`)
  return { providers: [provider], ...parsed }
}

/** Replaces `${…}` in every text of a config. */
const interpolate = (
  given: unknown,
  { environment, readText }: Pick<ConfigContext, 'environment' | 'readText'>,
): { value: unknown; problems: Problem[] } => {
  const problems: Problem[] = []
  const resolve = (path: Problem['path'], form: string, source: string, name: string): string => {
    const report = (message: string) => {
      problems.push({ path, message })
      return form
    }
    if (source === 'env') return environment[name] || report(`uses ${form}, which is not set`)
    if (source === 'file') {
      try {
        return readText(name).replace(/\r?\n$/, '') || report(`uses ${form}, which is empty`)
      } catch (error) {
        return report(`uses ${form}, which cannot be read (${codeOf(error)})`)
      }
    }
    return report(`has ${form}; write \${env:NAME} or \${file:/path}`)
  }
  const interpolated = (value: unknown, path: Problem['path']): unknown => {
    if (typeof value === 'string') {
      return value.replace(/\$\{(?:(\w+):)?([^}]*)\}/g, (form, source: string | undefined, name: string) =>
        resolve(path, form, source ?? '', name),
      )
    }
    if (Array.isArray(value)) return value.map((each: unknown, index) => interpolated(each, [...path, index]))
    if (!isMapping(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, interpolated(each, [...path, name])]),
    )
  }
  return { value: interpolated(given, []), problems }
}

const sections = ['providers', 'models']

/** What was read before, so that unchanged entries are neither parsed nor validated again. */
interface Earlier {
  parseYaml: ReturnType<typeof createYamlParser>
  modelCache: ReturnType<typeof createModelCache>
}

const readOnce = (file: string, context: ConfigContext, { parseYaml, modelCache }: Earlier): FileConfig => {
  const { protocols, readText } = context
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    throw new ConfigFileError([`PROVIDERS_FILE ${file} cannot be read (${codeOf(error)})`])
  }
  const { content, lineOf, problems: ofYaml } = parseYaml(text)
  const problems = ofYaml.map(({ line, message }) => ({ line, text: `${file}:${line}: ${message}` }))
  // A text that is not YAML cannot be validated further.
  if (ofYaml.some(({ isFatal }) => isFatal)) throw new ConfigFileError(problems.map((each) => each.text))
  const report = (path: Problem['path'], found: Problem[]) => {
    for (const problem of found) {
      const fullPath = [...path, ...problem.path]
      const line = lineOf(fullPath)
      problems.push({
        line,
        text: `${file}:${line}: ${formatPath(fullPath)} ${problem.message}`.replace(':  ', ': '),
      })
    }
  }
  const sectionOf = (name: string): Record<string, unknown> => {
    const section = isMapping(content) ? (content[name] ?? {}) : {}
    if (isMapping(section)) return section
    report([name], [{ path: [], message: 'must be a mapping of names' }])
    return {}
  }
  if (content !== null && content !== undefined && !isMapping(content)) {
    report([], [{ path: [], message: `must have ${sections.join(' and ')} at the top level` }])
  }
  for (const name of isMapping(content) ? Object.keys(content) : []) {
    if (sections.includes(name)) continue
    const meant = didYouMean(name, sections) || `; the sections are ${sections.join(' and ')}`
    report([name], [{ path: [], message: `is not a known section${meant}` }])
  }

  const rawProviders = sectionOf('providers')
  const providers = Object.entries(rawProviders).flatMap(([name, written]) => {
    const { value, problems: missing } = interpolate(written, context)
    const { config, problems: found } = parseProviderConfig(name, value, protocols, written)
    // A missing secret is reported once, not also as an invalid value.
    const isMissing = ({ path }: Problem) =>
      missing.some((each) => formatPath(each.path) === formatPath(path))
    report(['providers', name], [...missing, ...found.filter((problem) => !isMissing(problem))])
    return config ?? []
  })
  const builtIn = builtInProvider(protocols)
  const names = Object.keys(rawProviders)
  const known = names.length > 0 ? names : [builtIn.name]
  const { problems: ofModels, ...parsed } = parseModels(
    context.models,
    sectionOf('models'),
    known,
    modelCache,
  )
  report(['models'], ofModels)
  if (problems.length > 0) {
    throw new ConfigFileError(problems.toSorted((a, b) => a.line - b.line).map(({ text }) => text))
  }
  return { providers: names.length > 0 ? providers : [builtIn], ...parsed }
}

/** Returns the configuration of the file, or throws a `ConfigFileError` with all problems. */
export const createConfigFileReader = (): ((file: string, context: ConfigContext) => FileConfig) => {
  const earlier = { parseYaml: createYamlParser(), modelCache: createModelCache() }
  return (file, context) => readOnce(file, context, earlier)
}

/** Reads the file once. */
export const readConfigFile = (file: string, context: ConfigContext): FileConfig =>
  createConfigFileReader()(file, context)
