/** Code that sends the request of a form, in the languages of the API reference. */
import type { Operation } from '@kinora/contract/operation'
import { codeSamplesOf, type CodeSample } from '@kinora/contract/samples/samples'

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

export const writeSamples = ({
  operation: id,
  body,
  isForm = false,
  fileName,
}: SampledRequest): CodeSample[] => {
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
  return codeSamplesOf(operation, example).map((sample) => ({
    ...sample,
    // Samples name every file in the same way.
    source:
      fileName === undefined ? sample.source : sample.source.replaceAll(/\bspeech\.mp3\b/g, () => fileName),
  }))
}
