/**
 * The allowed imports, and the files that may use each restricted package. A name stands for a folder or file of
 * gateway/src, `@kinora/…` for another package of the workspace, and a leading slash for a path from the root.
 */

/**
 * @typedef {object} Zone
 * @property {string[]} imports Allowed imports besides the zone itself and the modules of Node.
 * @property {string[]} [types] Allowed with `import type` only.
 * @property {string[]} [packages] The only npm packages allowed. Without it, `restrictedPackages` decides.
 * @property {false} [builtins] False forbids the modules of Node too.
 */

const common = ['@kinora/contract', 'platform']
const everything = ['@kinora', '/gateway', '']
const vendor = folder(['providers/port', 'providers/kit'])

/**
 * Every folder and root file of gateway/src. A new one needs a row here.
 * @type {Record<string, Zone>}
 */
export const gatewayZones = {
  'main.ts': { imports: everything },
  wiring: { imports: everything },
  'seed.ts': { imports: everything },
  'storage-commands.ts': { imports: everything },
  'config.ts': {
    imports: [
      ...['platform/secret.ts', 'platform/allowed-hosts.ts', 'provider-config', 'providers/registry.ts'],
      ...['platform/hosts/database-url.ts', 'platform/hosts/redis-url.ts'],
      ...['storage/s3/bucket-url.ts', 'webhooks/deliveries/retry-schedule.ts'],
      'statements/statement-logo.ts',
    ],
    types: ['providers/kit/protocol.ts', 'admission'],
    packages: [],
  },

  platform: { imports: [] },
  events: folder([]),
  'event-feed': folder([], ['http']),
  auth: folder([]),
  models: folder([], ['auth', 'http']),
  storage: folder(['@kinora/sandbox'], ['http']),
  'safe-fetch': folder([]),
  admission: folder([]),
  'rate-limits': folder(['admission'], ['auth', 'billing']),
  http: folder(['auth', 'rate-limits', 'admission'], ['idempotency']),
  idempotency: folder([], ['auth', 'http']),
  billing: folder(['events', 'models'], ['auth']),
  metadata: folder([]),
  tasks: folder(['billing']),
  videos: folder(
    [
      ...['tasks', 'models', 'billing', 'storage', 'providers/port', 'routing', 'safe-fetch', 'metadata'],
      'provider-budgets',
    ],
    ['auth', 'http'],
  ),
  characters: folder(['events', 'storage', 'safe-fetch', 'videos'], ['http']),
  'provider-config': folder(['providers/kit/protocol.ts', 'models/model.ts', 'models/price-rule.ts']),
  'provider-budgets': folder([], ['provider-config']),
  routing: folder(['providers/port', 'provider-budgets'], ['provider-config', 'models/price-rule.ts']),
  audio: folder(
    [
      ...['models', 'billing', 'storage', 'providers/port', 'routing', '@kinora/sandbox/audio-filter'],
      'metadata',
    ],
    ['auth', 'http'],
  ),
  'transcription-tasks': folder(
    ['tasks', 'models', 'billing', 'storage', 'providers/port', 'routing', 'audio', 'metadata'],
    ['auth', 'http'],
  ),
  chat: folder(
    ['models', 'billing', 'storage', 'providers/port', 'routing', 'videos', 'audio', 'metadata'],
    ['http'],
  ),
  webhooks: folder(['tasks', 'videos', 'providers/port', 'safe-fetch', 'account', 'admin'], ['http']),
  status: folder(['models', 'routing'], ['http', 'providers/port']),
  pages: folder(['status'], ['http']),
  console: folder(['auth', 'admin'], ['http']),
  retention: folder(
    ['auth', 'storage', 'videos', 'transcription-tasks', 'status'],
    ['providers/port', 'http'],
  ),
  erasure: folder(['billing', 'storage', 'videos', 'transcription-tasks']),
  backup: folder(['storage']),
  archive: folder(['backup', 'billing']),
  'media-maintenance': folder(['storage', 'backup']),
  settings: folder([]),
  readings: folder(['billing', 'event-feed']),
  'request-log': folder([], ['http']),
  usage: folder(['metadata'], ['http']),
  statements: folder(['billing', 'models'], ['http']),
  account: folder(['admin', 'auth', 'billing', 'statements', 'usage'], ['http', 'models', 'settings']),
  admin: folder(
    [
      ...['auth', 'billing', 'models', 'videos', 'transcription-tasks', 'settings', 'erasure'],
      ...['request-log', 'statements', 'usage', 'provider-config', 'provider-budgets', 'routing', 'status'],
      ...['event-feed', 'readings'],
    ],
    ['http', 'providers/port'],
  ),

  timelines: folder(['admin', 'billing', 'videos'], ['http', 'transcription-tasks']),

  'providers/port': { imports: [], packages: [] },
  'providers/kit': folder(['providers/port', 'safe-fetch']),
  'providers/registry.ts': folder(['providers'], ['provider-config']),
  // Every other folder of providers belongs to one vendor.
  'providers/*': vendor,
}

/**
 * The other trees, by their path from the root.
 * @type {Record<string, Zone>}
 */
export const otherZones = {
  'contract/src': { imports: [], packages: ['typebox'], builtins: false },
  // It also runs in browsers, so it gets modules of Node only by process.getBuiltinModule, when a file is named.
  'client/src': { imports: [], packages: [], builtins: false },
  'sandbox/src': { imports: [], packages: [] },
  'local/src': { imports: ['@kinora/sandbox'] },
  'cli/src': {
    imports: [
      '@kinora/client',
      '@kinora/contract',
      '@kinora/gateway/certificate',
      '@kinora/gateway/main',
      '@kinora/gateway/config',
      '@kinora/gateway/log',
      '@kinora/gateway/metrics',
      '@kinora/gateway/readable-log',
      '@kinora/gateway/record-metrics',
      '@kinora/gateway/seed',
      '@kinora/gateway/storage-commands',
      '@kinora/local/server',
      '@kinora/local/models',
      '@kinora/local/engines',
      '@kinora/local/programs',
      '@kinora/local/sandbox',
      '@kinora/sandbox/sandbox',
    ],
  },
  'ai-sdk/src': {
    imports: [],
    types: ['@kinora/contract'],
    packages: ['@ai-sdk/provider', '@ai-sdk/provider-utils'],
    builtins: false,
  },
  dev: { imports: ['@kinora/contract'] },
}

/** Packages that only some files of gateway/src may import; `@scope/*` stands for every package of a scope. */
export const restrictedPackages = [
  {
    packages: ['fastify'],
    only: ['gateway/src/http/**'],
    reason: 'only http/ depends on the web framework',
  },
  {
    packages: ['@fastify/busboy'],
    only: ['gateway/src/http/body/multipart.ts'],
    reason: 'multipart forms are parsed in one file',
  },
  {
    packages: ['pg'],
    only: ['gateway/src/**/*-store.ts', 'gateway/src/platform/postgres.ts'],
    reason: 'only stores access the database',
  },
  {
    packages: ['@restatedev/*'],
    only: ['gateway/src/platform/engine/**'],
    reason: 'only platform/engine/ depends on the engine',
  },
  {
    packages: ['undici'],
    only: [
      'gateway/src/providers/kit/**',
      'gateway/src/safe-fetch/**',
      'gateway/src/platform/engine/nodes.ts',
      'gateway/src/storage/s3/check-presigned.ts',
    ],
    reason: 'outgoing requests go through providers/kit or safe-fetch/',
  },
  {
    packages: [
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/exporter-prometheus',
      '@opentelemetry/exporter-metrics-otlp-http',
    ],
    only: ['gateway/src/platform/metrics/export/collect-metrics.ts'],
    reason: 'the SDK is loaded only if metrics are on',
  },
  {
    packages: ['@aws-sdk/*'],
    only: ['gateway/src/storage/s3/**'],
    reason: 'only storage/s3/ depends on S3',
  },
  {
    packages: [
      '@opentelemetry/sdk-trace',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/context-async-hooks',
    ],
    only: ['gateway/src/platform/tracing/**'],
    reason: 'spans are made with platform/tracing/tracing.ts',
  },
  {
    packages: ['ioredis', 'rate-limiter-flexible'],
    only: ['gateway/src/rate-limits/**', 'gateway/src/platform/redis.ts'],
    reason: 'Redis holds only rate limits, so that the gateway also runs without it',
  },
]

/** Global `fetch` counts as the package that implements it. */
export const fetchOnly = restrictedPackages.find(({ packages }) => packages.includes('undici')).only

/** Applies to gateway/src, contract, client, local and cli. */
export const environmentOnly = [
  'gateway/src/config.ts',
  'client/src/environment.ts',
  'cli/src/connection/environment.ts',
]

export const sqlOnly = [
  'gateway/src/**/*-store.ts',
  'gateway/src/platform/postgres.ts',
  'gateway/src/platform/migrate.ts',
  'cli/src/dev/**',
]

/** A string that matches one of these is SQL. The second half of each pattern excludes English sentences. */
export const sqlOpenings = [
  /^\s*select\s+(\S+|[^]*[*(,$'][^]*?)\s+from\s+\S/i,
  /^\s*select\s+(\d+|\w+\([^]*\))\s*(as\s+\w+\s*)?;?\s*$/i,
  /^\s*insert\s+into\s+\S/i,
  /^\s*update\s+(only\s+)?\S+\s+(as\s+\w+\s+|\w+\s+)?set\s+\S/i,
  /^\s*delete\s+from\s+\S/i,
  /^\s*with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+(not\s+)?(materialized\s*)?\(/i,
  /^\s*create\s+(or\s+replace\s+|unique\s+|temp\s+|temporary\s+|unlogged\s+|materialized\s+)*(table|index|view|function|trigger|type|extension|schema|sequence|role|database|policy)\s+\S/i,
  /^\s*alter\s+(table|index|view|function|type|sequence|role|database|system|schema|policy)\s+\S/i,
  /^\s*begin\s*(;|\s(transaction|work|isolation|read\s+(only|write)|(not\s+)?deferrable)\b)/i,
  /^\s*(listen|notify)\s+("|\$|\w*_\w+|\w+\s*(;|,\s*'))/i,
]

function folder(imports, types = []) {
  return { imports: [...common, ...imports], types }
}
