/** A configuration of any size: models of several kinds with two routes each, and the providers that serve them. */
export interface ConfigSize {
  models: number
  providers: number
}

export const smallConfig: ConfigSize = { models: 4, providers: 2 }
export const largeConfig: ConfigSize = { models: 2_000, providers: 50 }

const settingsOfKinds = [
  (price: number) => [
    'kind: video',
    'family: B',
    'seconds: [4, 8]',
    'sizes: [1280x720]',
    `prices: [{ unit: second, micros: ${price} }]`,
  ],
  (price: number) => [
    'kind: video',
    'family: A',
    'durations: [8]',
    'endpoints: [/v1/video/create]',
    `prices: [{ unit: second, micros: ${price} }]`,
  ],
  (price: number) => [
    'kind: speech',
    'voices: [alloy, nova]',
    `prices: [{ unit: million_characters, micros: ${price} }]`,
  ],
  (price: number) => ['kind: transcription', `prices: [{ unit: minute, micros: ${price} }]`],
]

/**
 * The YAML of a providers file. The first models, `model-0` to `model-3`, are the same in every size. `price` is that of
 * `model-0`, to change one model; `note` is in the description of all models.
 */
export const configFile = (
  { models, providers }: ConfigSize,
  { baseUrl, price = 1_000, note = '' }: { baseUrl: string; price?: number; note?: string },
): string => {
  const vendors = Array.from({ length: providers }, (_, index) => [
    `  vendor-${index}:`,
    ...['kind: openai', `baseUrl: ${baseUrl}`, 'apiKey: vendor-key-of-tests', 'slots: 50'].map(
      (line) => `    ${line}`,
    ),
  ])
  const entries = Array.from({ length: models }, (_, index) => {
    const kind = settingsOfKinds[index % settingsOfKinds.length]
    // The routes of the first models do not depend on the number of providers.
    const [first, second] = index < 4 ? [0, 1] : [index % providers, (index + 7) % providers]
    const settings = [
      ...(kind?.(index === 0 ? price : 1_000) ?? []),
      `description: Model number ${index}${note}`,
      'created: 2026-01-15',
      `aliases: {alias-${index}: {}}`,
      'routes:',
      `  - {provider: vendor-${first}, model: upstream-${index}}`,
      `  - {provider: vendor-${second}, model: upstream-${index}, order: 2}`,
    ]
    return [`  model-${index}:`, ...settings.map((line) => `    ${line}`)]
  })
  return `${['providers:', ...vendors.flat(), 'models:', ...entries.flat()].join('\n')}\n`
}
