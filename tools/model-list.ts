/** The page of the models of the reference: what they make and what they cost, from `gateway/models.yaml` and `kinora dev`'s names. */
import { readFileSync } from 'node:fs'

import { parse } from 'yaml'

import { gibibyte, imageBytesMax, mebibyte } from '../contract/src/limits.ts'
import { audioBytesMax, speechCharactersMax } from '../contract/src/operations/audio.ts'
import { transcriptionTaskOperations } from '../contract/src/operations/transcription-tasks.ts'
import { promptCharactersMax } from '../contract/src/operations/video-fields.ts'
import { settings } from '../gateway/src/config.ts'
import { createCatalog } from '../gateway/src/models/catalog.ts'
import { frameSize, type ModelConfig, type VideoModel } from '../gateway/src/models/model.ts'
import type { PriceRule } from '../gateway/src/models/price-rule.ts'
import { voiceNames } from '../gateway/src/models/voice.ts'
import { parseModels } from '../gateway/src/provider-config/parse-models.ts'
import { referenceModels } from '../gateway/src/provider-config/reference-models.ts'

const currency = settings.CURRENCY.default ?? ''

/** The models with the names that `kinora dev` gives them. */
const modelsOfDev = (): ModelConfig[] => {
  const file = new URL('../cli/src/dev/providers.yaml', import.meta.url)
  const { models: named } = parse(readFileSync(file, 'utf8'), { merge: true }) as {
    models: Record<string, unknown>
  }
  const { models, problems } = parseModels(referenceModels, named, [])
  if (problems.length > 0) throw new Error(`Invalid models: ${JSON.stringify(problems)}`)
  return createCatalog(() => models).available()
}

const transcriptionBytesMax = transcriptionTaskOperations.createTranscriptionTask.body.fileBytesMax

const code = (text: string | number) => `\`${text}\``
const codes = (texts: (string | number)[]) => texts.map(code).join(', ')
const orNone = (text: string) => (text === '' ? '–' : text)

const unitName = (unit: PriceRule['unit']): string => (unit === 'call' ? 'video' : unit.replaceAll('_', ' '))

/** At least two decimals, such as 0.20 and 0.006. */
const amountText = (micros: number): string => (micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')

const priceText = ({ unit, unitMicros, resolution, sound, input }: PriceRule): string => {
  const conditions = [
    ...(resolution === null ? [] : [resolution]),
    ...(sound === null ? [] : [sound ? 'with sound' : 'without sound']),
    ...(input === null ? [] : [`from ${input}`]),
  ]
  const suffix = conditions.length === 0 ? '' : ` (${conditions.join(', ')})`
  return `${amountText(unitMicros)} ${currency} per ${unitName(unit)}${suffix}`
}

const pricesText = ({ prices }: ModelConfig) => prices.map(priceText).join('<br>')

const sizesText = (model: VideoModel): string =>
  Object.entries(model.sizes)
    .map(([size, dimensions]) =>
      size === frameSize(dimensions) ? code(size) : `${code(size)} (${frameSize(dimensions)})`,
    )
    .join(', ')

const secondsText = ({ seconds }: VideoModel) =>
  Array.isArray(seconds) ? seconds.join(', ') : `${seconds.least} to ${seconds.most}`

const imagesText = ({ imagesMax, imageRoles }: VideoModel): string =>
  imagesMax === 0 ? 'none' : `up to ${imagesMax}: ${imageRoles.join(', ').replaceAll('_', ' ')}`

const isVideo = (model: ModelConfig): model is VideoModel => model.kind === 'video'

const videoRows = (models: VideoModel[], endpoint: string, cells: (model: VideoModel) => string[]) =>
  models
    .filter(({ endpoints }) => endpoints.includes(endpoint))
    .map(
      (model) => `| ${[code(model.id), ...cells(model), imagesText(model), pricesText(model)].join(' | ')} |`,
    )

/** What a model has under an alias, and not under its id. */
const onlyUnderAlias = (model: ModelConfig): string[] => {
  const [changes] = Object.values(model.aliases)
  if (isVideo(model)) return Object.keys(changes?.sizes ?? {}).filter((size) => !(size in model.sizes))
  if (!('voices' in model)) return []
  return voiceNames(changes?.voices ?? []).filter((name) => !voiceNames(model.voices).includes(name))
}

const aliasRow = (model: ModelConfig) =>
  `| ${code(model.id)} | ${codes(Object.keys(model.aliases))} | ${orNone(codes(onlyUnderAlias(model)))} |`

const withAliases = (models: ModelConfig[]) => models.filter(({ aliases }) => Object.keys(aliases).length > 0)

const voiceRows = (models: ModelConfig[]) =>
  models.flatMap((model) =>
    'voices' in model ? [`| ${code(model.id)} | ${codes(voiceNames(model.voices))} |`] : [],
  )

const recognitionRow = (model: ModelConfig): string[] => {
  if (model.kind !== 'transcription') return []
  const translates = model.endpoints.includes('/v1/audio/translations') ? 'yes' : 'no'
  const formats = model.hasTimestamps ? 'all' : '`json`'
  return [`| ${code(model.id)} | ${formats} | ${translates} | ${pricesText(model)} |`]
}

export const modelListPage = (): string[] => {
  const models = modelsOfDev()
  const videos = models.filter(isVideo)
  return [
    `The names are those of the API reference that Kinora implements. Other names for them, such as \`sora-2\` and \`tts-1\`, are`,
    'in [the last table](#other-names). A name says nothing about who makes the result: the operator of an instance chooses the',
    'vendor of each model, and may change prices, sizes and durations and add models. `GET /v1/models` shows what your key can',
    `use, with the prices in force. Prices are in ${currency}; ${code('CURRENCY')} of an instance sets another currency.`,
    '',
    '## Videos at `POST /v1/videos`',
    '',
    '| model | `seconds` | `size` | images | price |',
    '|---|---|---|---|---|',
    ...videoRows(videos, '/v1/videos', (model) => [secondsText(model), sizesText(model)]),
    '',
    '## Videos at `POST /v1/video/create`',
    '',
    'The first duration is the default.',
    '',
    '| model | durations in seconds | `aspect_ratio` | images | price |',
    '|---|---|---|---|---|',
    ...videoRows(videos, '/v1/video/create', (model) => [
      model.durations.join(', '),
      orNone(codes(model.aspectRatios)),
    ]),
    '',
    `A prompt has at most ${promptCharactersMax} characters, an image ${imageBytesMax / mebibyte} MB. Models that make videos through`,
    `\`POST /v1/chat/completions\`: ${codes(videos.filter(({ endpoints }) => endpoints.includes('/v1/chat/completions')).map(({ id }) => id))}.`,
    '',
    '## Speech',
    '',
    `A text has at most ${speechCharactersMax} characters.`,
    '',
    '| model | price |',
    '|---|---|',
    ...models
      .filter(({ kind }) => kind === 'speech')
      .map((model) => `| ${code(model.id)} | ${pricesText(model)} |`),
    '',
    '## Transcription',
    '',
    `A recording has at most ${audioBytesMax / mebibyte} MB, or ${transcriptionBytesMax / gibibyte} GiB as a [transcription task](transcription-tasks.md).`,
    '',
    '| model | response formats | translates to English | price |',
    '|---|---|---|---|',
    ...models.flatMap(recognitionRow),
    '',
    '## Audio chat',
    '',
    '| model | context | output | price |',
    '|---|---|---|---|',
    ...models.flatMap((model) =>
      model.kind === 'chat'
        ? [
            `| ${code(model.id)} | ${model.contextTokens} tokens | up to ${model.outputTokensMax} tokens | ${pricesText(model)} |`,
          ]
        : [],
    ),
    '',
    '## Voices',
    '',
    '| model | voices |',
    '|---|---|',
    ...voiceRows(models),
    '',
    '## Other names',
    '',
    '`kinora dev` gives models the names that the `openai` packages document, with the voices and sizes that they document. In',
    'production the operator [adds such names](add-a-model.md).',
    '',
    '| model | also called | sizes and voices under these names only |',
    '|---|---|---|',
    ...withAliases(models).map(aliasRow),
  ]
}
