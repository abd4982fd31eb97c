/** The ids of the reference's models as types, by which an editor completes them. */
import { referenceModels } from '../gateway/src/provider-config/reference-models.ts'

const kinds = { video: 'Video', speech: 'Speech', transcription: 'Transcription' } as const

const typeOf = ([kind, name]: [string, string]) => {
  const ids = Object.entries(referenceModels).flatMap(([id, model]) => (model['kind'] === kind ? [id] : []))
  return [
    '',
    `/** A ${kind} model of the reference, or any other that the service has. */`,
    `export type Kinora${name}ModelId =`,
    ...ids.map((id) => `  | '${id}'`),
    '  | (string & {})',
  ]
}

export const modelIdsFile = (): string =>
  [
    '// Generated from gateway/models.yaml by `npm run generate`. Do not edit.',
    ...Object.entries(kinds).flatMap(typeOf),
    '',
  ].join('\n')
