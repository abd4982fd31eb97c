/** What the `openai` packages can call and this service does not have, each with the reason and the alternative. */
import type { Operation } from './operation.ts'

const createCharacter = 'POST /vidB/v1/characters'
const noCustomVoices = 'Custom voices are not supported. List the voices with GET /v1/audio/voices.'

/** Paths between those of operations, so that each needs a route. */
export const unsupportedOperations: Pick<Operation, 'method' | 'path' | 'summary'>[] = [
  {
    method: 'POST',
    path: '/v1/videos/extensions',
    summary:
      'Extending a video is not supported, because no provider can continue one. To create a new video from one of yours, use POST /v1/videos/{id}/remix.',
  },
  {
    method: 'POST',
    path: '/v1/videos/characters',
    summary: `Creating a character from an uploaded video is not supported, because a character has a unique user name instead of a display name. To create one from a URL or a task, use ${createCharacter}.`,
  },
  {
    method: 'GET',
    path: '/v1/videos/characters/{id}',
    summary:
      'A character is not read here, because it has a user name instead of a display name. Use GET /vidB/v1/characters/{id}.',
  },
  ...(['/v1/audio/voices', '/v1/audio/voice_consents'] as const).map((path) => ({
    method: 'POST' as const,
    path,
    summary: noCustomVoices,
  })),
]

const chat = 'POST /openai/v1/chat/completions'
const models = 'GET /openai/v1/models lists the models'
const videos = 'POST /openai/v1/videos'
const noFiles = 'Send images and recordings in the request that uses them.'
const noImages = `Images are not generated here. To generate a video, use ${videos}; ${models}.`
const noAgents = `Agents and assistants are not offered here. Use ${chat}; ${models}.`
const noRealtime = `Realtime sessions are not offered here. For a spoken reply, use ${chat} with an audio model and "stream": true; ${models}.`
const noStorage = `Requests and responses of chats are not kept here. Send the whole conversation to ${chat}.`
const noBatches = `Batches are not offered here. Send single requests: videos and long recordings are processed as tasks.`
const noTraining = 'Models are not trained or evaluated here.'
const noText = `This service generates video and audio. For text, use ${chat}; ${models}.`
const noAdministration =
  'Organizations and projects are not managed here. Accounts and their keys belong to the operator: GET /v1/me shows your key, GET /v1/usage what it used.'

/**
 * Everything else that the packages offer, by the begin of the path below `/openai/v1/`. The longest one counts. A client
 * that was written for another service learns the reason, and does not search for a mistake in its base URL.
 */
export const outOfScope: Readonly<Record<string, string>> = {
  responses: `The Responses API is not offered here. Use ${chat}: \`client.chat.completions.create\` in the \`openai\` packages, \`openai.chat('<model>')\` in the AI SDK instead of \`openai('<model>')\`. For video, speech and transcription with the AI SDK, use \`@kinora/ai-sdk\`. ${models}.`,
  'chat/completions': `Chat completions are not kept here, so they cannot be listed, read or changed. Create one with ${chat}.`,
  completions: `Use ${chat} instead; ${models}.`,
  'audio/voices': noCustomVoices,
  'audio/voice_consents': noCustomVoices,
  images: noImages,
  embeddings: `Embeddings are not offered here. ${noText}`,
  moderations: `Moderation is not offered as an endpoint. A provider rejects what its policy does not allow with \`content_policy_violation\`.`,
  files: `Files are not stored here. ${noFiles}`,
  uploads: `Files are not stored here. ${noFiles}`,
  vector_stores: `Files are not stored here. ${noFiles}`,
  containers: `Files are not stored here. ${noFiles}`,
  batches: noBatches,
  fine_tuning: noTraining,
  evals: noTraining,
  realtime: noRealtime,
  live: noRealtime,
  assistants: noAgents,
  threads: noAgents,
  agents: noAgents,
  chatkit: noAgents,
  skills: noAgents,
  vaults: noAgents,
  decisions: noAgents,
  conversations: noStorage,
  safety: noAdministration,
  organization: noAdministration,
  projects: noAdministration,
  content_provenance_checks: 'Media are not checked for their origin here.',
}

/** The reason for a path below `/openai/v1/`, without its query; undefined for a path that no package calls. */
export const findOutOfScope = (path: string): string | undefined => {
  const [first = '', second = ''] = path.split('/', 2)
  for (const begin of [`${first}/${second}`, first])
    if (Object.hasOwn(outOfScope, begin)) return outOfScope[begin]
  return undefined
}
