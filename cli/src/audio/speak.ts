/** `kinora speak`. */
import { access, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { styleText } from 'node:util'

import type { CreateSpeechParams, Kinora } from '@kinora/client'
import type { SpeechFormat } from '@kinora/contract/operations/audio'

import { connect } from '../connection/connect.ts'
import { checkOutput } from '../connection/output-file.ts'
import { readText } from '../connection/read-text.ts'
import { UsageError } from '../frame/usage-error.ts'
import { openFile } from '../terminal/open-file.ts'
import { isTerminal, print, printJson, tell } from '../terminal/print.ts'
import { saveFile } from '../videos/deliver.ts'
import { speechFormats } from './media-formats.ts'

interface SpeakInput {
  text: string
  model: string | undefined
  voice: string | undefined
  output: string | undefined
  format: SpeechFormat | undefined
  speed: number | undefined
  instructions: string | undefined
  open: boolean
  json: boolean
  profile: string | undefined
}

const chooseVoice = async (kinora: Kinora, { model, voice }: SpeakInput) => {
  if (model !== undefined && voice !== undefined) return { model, voice }
  const { data } = await kinora.models.list()
  const found = data.find(
    ({ id, kind, state, voices = [] }) =>
      kind === 'speech' &&
      (model === undefined ? state === 'active' : id === model) &&
      (voice === undefined ? voices.length > 0 : voices.includes(voice)),
  )
  const chosen = voice ?? found?.voices?.[0]
  if (found !== undefined && chosen !== undefined) return { model: found.id, voice: chosen }
  throw new UsageError('The key may not use a model with this voice. See kinora voices')
}

const readFormat = ({ format, output }: SpeakInput): SpeechFormat => {
  if (format !== undefined) return format
  const ending = extname(output ?? '')
    .slice(1)
    .toLowerCase()
  if (ending === '') return 'mp3'
  const found = speechFormats.find((each) => each === ending)
  if (found !== undefined) return found
  throw new UsageError(`A file cannot end with .${ending}. Use one of: ${speechFormats.join(', ')}.`)
}

/** A name that no file has yet. */
const findFreeName = async (format: string): Promise<string> => {
  for (let number = 1; ; number += 1) {
    const name = `speech${number === 1 ? '' : `-${number}`}.${format}`
    const isTaken = await access(name).then(
      () => true,
      () => false,
    )
    if (!isTaken) return name
  }
}

export const speak = async (input: SpeakInput): Promise<void> => {
  const text = await readText(input.text)
  const format = readFormat(input)
  const output = input.output ?? (isTerminal() || input.json ? await findFreeName(format) : '-')
  await checkOutput(output)
  const { kinora } = await connect(input)
  const chosen = await chooseVoice(kinora, input)
  const file = await kinora.speech.create({
    ...chosen,
    input: text,
    response_format: format,
    ...(input.speed !== undefined && { speed: input.speed }),
    ...(input.instructions !== undefined && { instructions: input.instructions }),
    dry_run: false,
  } as CreateSpeechParams & { dry_run: false })
  await saveFile(file, output)
  if (process.stderr.isTTY && !input.json) {
    tell(`${styleText('green', '✓', { stream: process.stderr })} ${chosen.model} · ${chosen.voice}`)
  }
  if (output === '-') return
  if (input.json) printJson({ file: output, format, bytes: (await stat(output)).size })
  else print(output)
  if (input.open && !(await openFile(output))) tell(`No program was found that opens ${output}.`)
}
