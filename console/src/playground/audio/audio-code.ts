/** Code that sends the request of a form, in the languages of the API reference. */
import type { Operation } from '@kinora/contract/operation'
import { codeSamplesOf } from '@kinora/contract/samples/samples'

import { codeLanguages, type CodeLanguage } from '../code/code-panels.tsx'

/** What stands for a file in the body. */
export const recordingPlaceholder = '<audio/mpeg file>'

const schema = {} as never

const operations = {
  createSpeech: { path: '/v1/audio/speech', answer: { contentType: 'audio/*' } },
  createTranscription: { path: '/v1/audio/transcriptions', answer: { schema } },
  createTranslation: { path: '/v1/audio/translations', answer: { schema } },
  createTranscriptionTask: { path: '/v1/audio/transcription-tasks', answer: { schema } },
  completeChat: { path: '/v1/chat/completions', answer: { schema } },
}

interface SampledRequest {
  operation: keyof typeof operations
  body: Record<string, unknown>
  isForm?: boolean
  /** The name of the file that is sent or received. */
  fileName?: string
}

/** The labels of the API reference. */
const labels: Record<CodeLanguage, string> = {
  ...{ curl: 'curl', typescript: 'openai (TypeScript)', python: 'openai (Python)' },
  ...{ client: '@kinora/client', cli: 'kinora (command line)' },
}

export const writeSamples = ({
  operation: id,
  body,
  isForm = false,
  fileName,
}: SampledRequest): { language: CodeLanguage; code: string }[] => {
  const { path, answer } = operations[id]
  const operation = { id, method: 'POST', path, access: 'key', answer } as unknown as Operation
  const example = {
    request: {
      parameters: {},
      contentType: isForm ? 'multipart/form-data' : 'application/json',
      body,
    },
    response: { contentType: 'contentType' in answer ? 'audio/mpeg' : 'application/json', body: undefined },
  }
  const samples = codeSamplesOf(operation, example)
  return codeLanguages.flatMap((language) => {
    const source = samples.find(({ label }) => label === labels[language])?.source
    if (source === undefined) return []
    // Samples name every file in the same way.
    const code = fileName === undefined ? source : source.replaceAll(/\bspeech\.mp3\b/g, () => fileName)
    return [{ language, code }]
  })
}
