import { Type } from 'typebox'
import { expect, test } from 'vitest'

import { protocol } from '../providers/kit/protocol.ts'
import type { Connected } from '../providers/port/provider.ts'
import { readConfigFile, ConfigFileError } from './config-file.ts'

const connect = (): Connected => ({
  access: { host: 'acme.example', check: async () => ({ kind: 'accepted' }) },
})

const about = { title: 'Acme', description: 'Acme.', capabilities: [], needsKey: false }

const protocols = {
  acme: protocol({
    about,
    defaultBaseUrl: 'https://api.acme.example',
    settings: Type.Object({
      webhooks: Type.Boolean({ default: false }),
      region: Type.Enum(['east', 'west'], { default: 'east' }),
      project: Type.Optional(Type.String()),
      input: Type.Record(Type.String(), Type.Enum(['prompt', 'seconds']), { default: { text: 'prompt' } }),
      fixed: Type.Record(Type.String(), Type.Unknown(), { default: {} }),
    }),
    connect,
  }),
  local: protocol({
    about,
    defaultBaseUrl: 'http://127.0.0.1:9190',
    settings: Type.Object({}),
    connect,
  }),
  anywhere: protocol({
    about,
    settings: Type.Object({}),
    connect,
  }),
}

const video = {
  ...{
    kind: 'video',
    family: 'B',
    seconds: [4, 8],
    sizes: ['1280x720'],
    prices: [{ unit: 'second', micros: 5 }],
  },
}
const price = { prices: [{ unit: 'million_characters', micros: 6 }] }

const files: Record<string, string> = { '/run/secrets/acme': 'sk-from-a-file\n', '/run/secrets/empty': '\n' }

const read = (text: string) => {
  const seen: string[] = []
  const config = readConfigFile('providers.yaml', {
    protocols,
    models: { 'vidA-1': video, 'vidB-2': video, 'say-1': { kind: 'speech', voices: ['Al'], ...price } },
    environment: { ACME_KEY: 'sk-from-the-environment', EMPTY: '' },
    readText: (path) => {
      seen.push(path)
      const found = path === 'providers.yaml' ? text : files[path]
      if (found === undefined) throw Object.assign(new Error('not there'), { code: 'ENOENT' })
      return found
    },
  })
  return { ...config, seen }
}

const problemsOf = (text: string): string[] => {
  try {
    read(text)
  } catch (error) {
    if (error instanceof ConfigFileError) return error.problems
    throw error
  }
  return []
}

test('a provider config has the common settings and those of its protocol', () => {
  const { providers } = read(`
providers:
  east: { kind: acme, region: west, slots: 7, enabled: false, submitTimeoutMs: 9000,
          fixed: { fps: 24, deep: [null] } }
  house:
    kind: anywhere
    baseUrl: http://10.0.0.7:8080/v1//
    apiKey: \${env:ACME_KEY}
    resultOrigins: [http://10.0.0.8:9000/]
    traceparent: true
`)
  expect(providers).toEqual([
    {
      name: 'east',
      kind: 'acme',
      baseUrl: 'https://api.acme.example',
      apiKey: undefined,
      isEnabled: false,
      slots: 7,
      shards: 1,
      pollIntervalMs: { least: 2_000, most: 15_000 },
      timeoutsMs: { submit: 9_000, poll: 15_000, download: 600_000 },
      connections: 64,
      concurrency: 64,
      traceparent: false,
      resultOrigins: [],
      protocolSettings: {
        webhooks: false,
        region: 'west',
        input: { text: 'prompt' },
        fixed: { fps: 24, deep: [null] },
      },
    },
    expect.objectContaining({
      name: 'house',
      baseUrl: 'http://10.0.0.7:8080/v1',
      traceparent: true,
      resultOrigins: ['http://10.0.0.8:9000'],
      protocolSettings: {},
    }),
  ])
  expect(providers[1]?.apiKey?.reveal()).toBe('sk-from-the-environment')
})

test('a secret can be read from a file; its final line break is dropped and the file is read through the context', () => {
  const { providers, seen } = read("providers: {a: {kind: acme, apiKey: '${file:/run/secrets/acme}'}}")
  expect(providers[0]?.apiKey?.reveal()).toBe('sk-from-a-file')
  expect(seen).toEqual(['providers.yaml', '/run/secrets/acme'])
})

test('a model has routes with defaults; a single provider has a short form', () => {
  const { models } = read(`
providers: { a: { kind: acme }, b: { kind: acme } }
models:
  vidA-1:
    state: deprecated
    shutdownDate: 2027-01-31
    successor: vidB-2
    routes:
      - { provider: b, model: acme-1, weight: 3, seconds: [4, 8], sizes: [1280x720], slots: 5 }
      - { provider: a, order: 2, costs: [{ unit: second, micros: 3, sound: false }] }
  vidB-2: { upstreamModel: 4, prices: [{ unit: second, micros: 0 }] }
`)
  expect(models['vidA-1']).toMatchObject({
    state: 'deprecated',
    shutdownDate: '2027-01-31',
    successor: 'vidB-2',
    prices: [{ unit: 'second', unitMicros: 5 }],
  })
  const open = {
    order: 1,
    weight: 1,
    seconds: undefined,
    sizes: undefined,
    slots: undefined,
    costs: undefined,
  }
  expect(models['vidA-1']?.routes).toEqual([
    {
      ...{ provider: 'b', upstreamModel: 'acme-1', order: 1, weight: 3 },
      ...{ seconds: [4, 8], sizes: ['1280x720'], slots: 5, costs: undefined },
    },
    {
      ...{ ...open, provider: 'a', upstreamModel: 'vidA-1', order: 2 },
      costs: [{ unit: 'second', unitMicros: 3, resolution: null, sound: false, input: null }],
    },
  ])
  expect(models['vidB-2']).toMatchObject({
    routes: [{ ...open, provider: 'a', upstreamModel: '4' }],
    prices: [{ unit: 'second', unitMicros: 0 }],
  })
})

test.each(['', '# nothing yet\n', 'providers:\n', 'models: {vidB-2: {provider: local}}'])(
  'a file without providers has the built-in provider: %j',
  (text) => {
    expect(read(text).providers).toEqual([
      expect.objectContaining({ name: 'local', kind: 'local', baseUrl: 'http://127.0.0.1:9190', slots: 200 }),
    ])
  },
)

test('all problems are reported at once, each with its line', () => {
  expect(
    problemsOf(`providers:
  acme:
    kind: acme
    slots: many
    base_url: https://elsewhere.example
    webhooks: sometimes
    region: north
    input:
      words: promt
    fixed: 24
    apiKey: \${env:NO_SUCH}
  house:
    kind: anywhere
  odd name: { kind: acme }
  far:
    kind: acmee
    webhooks: true
    baseUrl: ftp://far.example
    resultOrigins:
      - http://10.0.0.7:9000
      - 10.0.0.8
  slow: { kind: acme, pollIntervalMsMin: 20000 }
  bare:
models:
  vidB-3:
    prices: [{ unit: second, micros: 1 }]
  vidA-1:
    routes:
      - provider: acme
        weight: 0
      - provider: hose
        seconds: [4, long]
        sizes: []
  vidB-2: { provider: house, shutdownDate: 2027-02-31, successor: vidB-9, routes: [{ provider: house }] }
  say-1: { prices: [{ unit: million_characters, micros: 0.5 }], price: 1, state: gone }
provider: {}
`),
  ).toEqual([
    'providers.yaml:4: providers.acme.slots must be a whole number from 1 to 100000, not "many"',
    'providers.yaml:5: providers.acme.base_url is not a setting; did you mean baseUrl?',
    'providers.yaml:6: providers.acme.webhooks must be true or false, not "sometimes"',
    'providers.yaml:7: providers.acme.region must be one of east, west, not "north"',
    'providers.yaml:9: providers.acme.input.words must be one of prompt, seconds, not "promt"',
    'providers.yaml:10: providers.acme.fixed must be a mapping of names, not 24',
    'providers.yaml:11: providers.acme.apiKey uses ${env:NO_SUCH}, which is not set',
    'providers.yaml:12: providers.house.baseUrl is required: anywhere has no default URL',
    'providers.yaml:14: providers.odd name must have a name of at most 64 letters, digits, dots, dashes and underscores',
    'providers.yaml:16: providers.far.kind must be one of acme, local, anywhere, not "acmee"; did you mean acme?',
    'providers.yaml:18: providers.far.baseUrl must be a URL such as https://api.example.com/v1, not "ftp://far.example"',
    'providers.yaml:21: providers.far.resultOrigins[1] must be an origin such as http://10.0.0.7:9000, not "10.0.0.8"',
    'providers.yaml:22: providers.slow.pollIntervalMsMax must be at least pollIntervalMsMin, 20000',
    'providers.yaml:23: providers.bare.kind is required: The protocol of the provider',
    'providers.yaml:25: models.vidB-3 is not a model of the catalog; did you mean vidB-2?; to add it, set its kind: video, speech, transcription, chat',
    'providers.yaml:30: models.vidA-1.routes[0].weight must be a whole number of at least 1, not 0',
    'providers.yaml:31: models.vidA-1.routes[1].provider must be one of acme, house, odd name, far, slow, bare, not "hose"; did you mean house?',
    'providers.yaml:32: models.vidA-1.routes[1].seconds[1] must be a whole number of at least 1, not "long"',
    'providers.yaml:33: models.vidA-1.routes[1].sizes must list at least one; leave it out for no restriction',
    'providers.yaml:34: models.vidB-2.successor must be a model of the catalog, not "vidB-9"; did you mean vidB-2?',
    'providers.yaml:34: models.vidB-2.shutdownDate must be a date such as 2027-01-31, not "2027-02-31"',
    'providers.yaml:34: models.vidB-2.routes cannot be combined with provider and upstreamModel; write those as a route',
    'providers.yaml:35: models.say-1.price is not a setting; did you mean prices?',
    'providers.yaml:35: models.say-1.state must be one of active, deprecated, retired, not "gone"',
    'providers.yaml:35: models.say-1.prices[0].micros must be a whole number from 0 to 1000000000000, not 0.5',
    'providers.yaml:36: provider is not a known section; did you mean providers?',
  ])
})

test('a model that the file adds has its settings and their defaults', () => {
  const { models } = read(`
models:
  clip-1: { kind: video, family: A, secondsMin: 2, secondsMax: 9, sizes: [wide, 480x480], sizeNames: { wide: 1280x720 },
            prices: [{ unit: second, micros: 9 }], aliases: { clip: {} } }
  hear-1: { kind: transcription, endpoints: [/v1/audio/translations], prices: [{ unit: minute, micros: 3 }], created: 2026-02-01 }
`)
  expect(models['clip-1']).toMatchObject({
    ...{ id: 'clip-1', kind: 'video', family: 'A', state: 'active', created: 0, ownedBy: 'kinora' },
    ...{
      seconds: { least: 2, most: 9 },
      durations: [2],
      imagesMax: 1,
      usualSeconds: 120,
      priceSource: 'file',
    },
    sizes: { wide: { width: 1280, height: 720 }, '480x480': { width: 480, height: 480 } },
    ...{ endpoints: ['/v1/videos', '/v1/video/create', '/v1/chat/completions'], aliases: { clip: {} } },
  })
  expect(models['hear-1']).toMatchObject({
    ...{ endpoints: ['/v1/audio/translations'], hasTimestamps: true, created: 1_769_904_000 },
  })
  expect(Object.keys(models)).toEqual(['vidA-1', 'vidB-2', 'say-1', 'clip-1', 'hear-1'])
  expect(models['vidA-1']?.priceSource).toBe('catalog')
})

test('voices are names, or mappings with what is known about them', () => {
  const sample = 'https://example.com/bo.mp3'
  const { models } = read(`
models:
  say-1: { voices: [Al, { name: Bo, language: en-GB, gender: male, sample: "${sample}" }] }
`)
  expect(models['say-1']).toMatchObject({
    voices: [
      { name: 'Al', language: null, gender: null, sample: null },
      { name: 'Bo', language: 'en-GB', gender: 'male', sample },
    ],
  })
  const demand = (given: string) =>
    `must be a name, or a mapping such as {name: nova, language: en-US, gender: female} with a gender of female, male or neutral, not ${given}`
  expect(
    problemsOf(`models:
  say-1:
    voices:
      - { name: Bo, gender: robot }
      - { gender: male }
      - { name: Cy, accent: british }
      - 7
`),
  ).toEqual([
    `providers.yaml:4: models.say-1.voices[0] ${demand('{"name":"Bo","gender":"robot"}')}`,
    `providers.yaml:5: models.say-1.voices[1] ${demand('{"gender":"male"}')}`,
    `providers.yaml:6: models.say-1.voices[2] ${demand('{"name":"Cy","accent":"british"}')}`,
    `providers.yaml:7: models.say-1.voices[3] ${demand('7')}`,
  ])
})

test('problems of an added model name its line and the fix', () => {
  expect(
    problemsOf(`models:
  clip-1:
    kind: video
    family: C
    prices: [{ unit: second, micros: 9 }]
  clip-2:
    kind: video
    family: B
    prices: [{ unit: second, micros: 9 }]
  clip/3: { kind: speech, voices: [], prices: [{ unit: million_characters, micros: 1 }] }
  clip-4: { kind: film }
  clip-5:
    kind: video
    family: B
    endpoints: [/v1/audio/speech]
    prices: [{ unit: second, micros: 9 }]
    aliases: { Al Gore: {} }
  clip-6:
    kind: video
    family: B
    seconds: [8]
    secondsMax: 9
    sizes: [1280x720, wide]
    prices: [{ unit: second, micros: 9 }]
  clip-7: { kind: video, family: A, endpoints: [/v1/video/create], prices: [{ unit: second, micros: 9 }] }
`),
  ).toEqual([
    'providers.yaml:4: models.clip-1.family must be one of A, B, not "C"',
    'providers.yaml:6: models.clip-2.seconds is required at /v1/videos: the durations, such as [4, 8, 12]',
    'providers.yaml:6: models.clip-2.sizes is required at /v1/videos: such as [1280x720, 720x1280]',
    'providers.yaml:10: models.clip/3.voices must list at least one',
    'providers.yaml:10: models.clip/3 must have an id of at most 100 letters, digits, dots, dashes and underscores',
    'providers.yaml:11: models.clip-4.kind must be one of video, speech, transcription, chat, not "film"',
    'providers.yaml:15: models.clip-5.endpoints[0] must be one of /v1/videos, /v1/video/create, /v1/chat/completions, not "/v1/audio/speech"',
    'providers.yaml:17: models.clip-5.aliases.Al Gore must be a name of at most 100 letters, digits, dots, dashes and underscores',
    'providers.yaml:21: models.clip-6.seconds cannot be combined with secondsMin and secondsMax',
    'providers.yaml:23: models.clip-6.sizes[1] must be a size such as 1280x720, or have one in sizeNames, not "wide"',
    'providers.yaml:25: models.clip-7.durations is required: the durations, the default one first, such as [8]',
  ])
})

test('problems of prices name the rule and the fix', () => {
  const model = 'kind: video, family: A, endpoints: [/v1/video/create], durations: [8]'
  expect(
    problemsOf(`models:
  clip-1:
    ${model.replaceAll(', ', '\n    ').replace('[/v1', '[ /v1')}
    prices:
      - { unit: second, micros: 1, sound: true }
      - { unit: minute, micros: 1 }
      - { unit: call, micros: 1, sound: true }
  clip-2: { ${model}, prices: [{ unit: image, micros: 1 }, { unit: call, micros: 1, resolution: 720p }] }
  clip-3: { ${model}, prices: [{ unit: call, micros: 1, resolution: large }] }
  clip-4: { ${model}, prices: [{ unit: call, micros: 1 }], routes: [{ provider: local, costs: [{ unit: minute, micros: 1 }] }] }
  vidB-2: { prices: [] }
  say-1: { prices: [{ unit: million_characters, micros: 1, sound: true }] }
  clip-5: { ${model}, prices: [{ unit: call, micros: 1 }], imageRoles: [last_frame, first_frame, style, style] }
`),
  ).toEqual([
    'providers.yaml:9: models.clip-1.prices[1].unit must be second or call or image for a model of kind video, not minute',
    'providers.yaml:10: models.clip-1.prices[2] has the same conditions as an earlier rule',
    'providers.yaml:11: models.clip-2.prices must have a rule without conditions for second or call, which applies if no other does',
    'providers.yaml:12: models.clip-3.prices[0].resolution must be a size such as 1280x720, or a number of lines such as 720p, not "large"',
    'providers.yaml:13: models.clip-4.routes[0].costs[0].unit must be second or call or image for a model of kind video, not minute',
    'providers.yaml:14: models.vidB-2.prices must list at least one',
    'providers.yaml:15: models.say-1.prices[0] cannot have conditions; only videos have them',
    'providers.yaml:16: models.clip-5.imageRoles must not have a role twice',
    'providers.yaml:16: models.clip-5.imageRoles must have first_frame directly before last_frame',
  ])
})

test('a size that no route makes is reported where it is set', () => {
  const base = 'kind: video, family: B, seconds: [4], prices: [{ unit: second, micros: 9 }]'
  const fix = 'which no route makes: add it to the sizes of a route, or remove it here'
  expect(
    problemsOf(`providers: { a: { kind: acme }, b: { kind: acme } }
models:
  clip-1:
    { ${base}, sizes: [wide, 480x480, 640x360], sizeNames: { wide: 1280x720 }, frames: [1280x720, 1920x1080],
      aliases: { clip: { sizes: [640x360, 1024x1024] } },
      routes: [{ provider: a, sizes: [480x480] }, { provider: b, sizes: [640x360, 1280x720] }] }
  clip-2: { ${base}, sizes: [wide], sizeNames: { wide: 1280x720 }, routes: [{ provider: a, sizes: [480x480] }] }
  clip-3: { ${base}, sizes: [480x480], routes: [{ provider: a, sizes: [640x360] }, { provider: b }] }
  clip-4:
    kind: video
    family: A
    endpoints: [/v1/video/create]
    durations: [8]
    prices: [{ unit: second, micros: 9 }]
    routes: [{ provider: a, sizes: [480x480] }]
`),
  ).toEqual([
    `providers.yaml:4: models.clip-1.frames[1] is 1920x1080, ${fix}`,
    `providers.yaml:5: models.clip-1.aliases.clip.sizes[1] is 1024x1024, ${fix}`,
    `providers.yaml:7: models.clip-2.sizes[0] is 1280x720, ${fix}`,
    'providers.yaml:9: models.clip-4.frames is required, because no route makes one of 1280x720, 720x1280, 1920x1080, 1080x1920: the sizes that a route makes',
  ])
})

test('whoever changes sizes and durations changes them at every endpoint', () => {
  const { models } = read(`
models:
  vidB-2: { sizes: [480x480], seconds: [4] }
`)
  expect(models['vidB-2']).toMatchObject({ durations: [4], frames: [{ width: 480, height: 480 }] })
})

test('a model is not its own successor, and has each voice once', () => {
  expect(
    problemsOf(`models:
  vidA-1: { successor: vidA-1 }
  say-1: { voices: [Al, Bo, { name: Al, gender: male }], aliases: { say: { voices: [Cy, Cy] } } }
`),
  ).toEqual([
    'providers.yaml:2: models.vidA-1.successor must be another model, not the model itself',
    'providers.yaml:3: models.say-1.aliases.say.voices[1] is "Cy", which the list already has: remove one of them',
    'providers.yaml:3: models.say-1.voices[2] is "Al", which the list already has: remove one of them',
  ])
})

test('a name belongs to one model', () => {
  expect(
    problemsOf(`models:
  vidA-1: { aliases: { sora-2: {}, say-1: {} } }
  vidB-2: { aliases: { sora-2: {} } }
`),
  ).toEqual([
    'providers.yaml:2: models.vidA-1.aliases.say-1 cannot be a name of vidA-1, because say-1 is a model: choose another name',
    'providers.yaml:3: models.vidB-2.aliases.sora-2 cannot be a name of both vidA-1 and vidB-2: remove it from one of them',
  ])
})

test('a route to an unknown provider is reported with its line', () => {
  expect(
    problemsOf(
      'providers: { house: { kind: acme } }\nmodels:\n  vidB-2:\n    routes:\n      - provider: hose\n',
    ),
  ).toEqual([
    'providers.yaml:5: models.vidB-2.routes[0].provider must be one of house, not "hose"; did you mean house?',
  ])
})

test('duplicate names and invalid YAML are reported with their lines', () => {
  expect(problemsOf('providers:\n  a: { kind: acme }\n  a: { kind: acme, slots: 0 }\n')).toEqual([
    'providers.yaml:3: a appears twice; remove one of them',
    'providers.yaml:3: providers.a.slots must be a whole number from 1 to 100000, not 0',
  ])
  expect(problemsOf('providers:\n  a: { kind: acme\nmodels: {}\n')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^providers\.yaml:[23]: /)]),
  )
  expect(problemsOf('- providers')).toEqual([
    'providers.yaml:1: must have providers and models at the top level',
  ])
  expect(problemsOf('providers: [acme]')).toEqual(['providers.yaml:1: providers must be a mapping of names'])
})

test('a problem with a secret does not show the secret', () => {
  const problems = problemsOf(`
providers:
  a:
    kind: acme
    baseUrl: \${file:/run/secrets/acme}
    apiKey: [sk-written-here]
  b: { kind: acme, apiKey: '\${file:/run/secrets/none}' }
  c: { kind: acme, apiKey: '\${file:/run/secrets/empty}' }
  d: { kind: acme, apiKey: '\${ACME_KEY}' }
  e: { kind: acme, apiKey: '\${env:EMPTY}' }
`)
  expect(problems).toEqual([
    'providers.yaml:5: providers.a.baseUrl must be a URL such as https://api.example.com/v1, not "${file:/run/secrets/acme}"',
    'providers.yaml:6: providers.a.apiKey must be text',
    'providers.yaml:7: providers.b.apiKey uses ${file:/run/secrets/none}, which cannot be read (ENOENT)',
    'providers.yaml:8: providers.c.apiKey uses ${file:/run/secrets/empty}, which is empty',
    'providers.yaml:9: providers.d.apiKey has ${ACME_KEY}; write ${env:NAME} or ${file:/path}',
    'providers.yaml:10: providers.e.apiKey uses ${env:EMPTY}, which is not set',
  ])
})

test('an unreadable file is named in the error', () => {
  const open = () =>
    readConfigFile('/nowhere.yaml', {
      ...{ protocols, models: {}, environment: {} },
      readText: () => {
        throw Object.assign(new Error('not there'), { code: 'ENOENT' })
      },
    })
  expect(open).toThrow('PROVIDERS_FILE /nowhere.yaml cannot be read (ENOENT)')
})
