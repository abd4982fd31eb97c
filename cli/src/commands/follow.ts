/** Commands that show and change what a caller has. */
import { defineCommand } from '../frame/command.ts'
import { operatorOptions } from './operator-options.ts'
import { limitOption, resultOptions, serviceOptions } from './service-options.ts'

const videoId = { id: { summary: 'id of the video' } } as const

export const followCommands = [
  defineCommand({
    words: 'video watch',
    group: 'Follow',
    summary: 'Follow a video until it has ended, and save or show it.',
    details: 'With --json, each event is one line of JSON, and so is the finished video.',
    arguments: videoId,
    options: {
      output: resultOptions.output,
      open: resultOptions.open,
      noOpen: resultOptions.noOpen,
      ...serviceOptions,
    },
    example: 'kinora video watch vidB-2:1794783873-00wr0CHx8hiNIb -o whale.mp4',
    run: async (input) => (await import('../videos/watch.ts')).watchVideo(input),
  }),
  defineCommand({
    words: 'video get',
    group: 'Follow',
    summary: 'Show a video, and save it with -o.',
    arguments: videoId,
    options: { output: resultOptions.output, ...serviceOptions },
    example: 'kinora video get vidB-2:1794783873-00wr0CHx8hiNIb -o whale.mp4',
    run: async (input) => (await import('../videos/show.ts')).getVideo(input),
  }),
  defineCommand({
    words: 'video list',
    group: 'Follow',
    summary: 'List the videos of the account, newest first.',
    options: { ...limitOption, ...serviceOptions },
    example: 'kinora video list --limit 50',
    run: async (input) => (await import('../videos/show.ts')).listVideos(input),
  }),
  defineCommand({
    words: 'video cancel',
    group: 'Follow',
    summary: 'Cancel a video that is not finished. Nothing is charged.',
    arguments: videoId,
    options: serviceOptions,
    example: 'kinora video cancel vidB-2:1794783873-00wr0CHx8hiNIb',
    run: async (input) => (await import('../videos/show.ts')).cancelVideo(input),
  }),
  defineCommand({
    words: 'video delete',
    group: 'Follow',
    summary: 'Delete a video that has ended, with its file.',
    arguments: videoId,
    options: { yes: { type: 'flag', short: 'y', summary: 'do not ask' }, ...serviceOptions },
    example: 'kinora video delete vidB-2:1794783873-00wr0CHx8hiNIb',
    run: async (input) => (await import('../videos/show.ts')).deleteVideo(input),
  }),
  defineCommand({
    words: 'models list',
    group: 'Follow',
    summary: 'List the models that the key may use, with their prices.',
    options: {
      kind: {
        type: 'text',
        choices: ['video', 'speech', 'transcription', 'chat'],
        summary: 'only models of this kind',
      },
      ...serviceOptions,
    },
    example: 'kinora models list --kind video',
    run: async (input) => (await import('../account/list-models.ts')).listModels(input),
  }),
  defineCommand({
    words: 'voices',
    group: 'Follow',
    summary: 'List the voices that the key may use.',
    options: {
      model: { type: 'text', short: 'm', value: 'id', summary: 'only voices of this model' },
      language: {
        type: 'text',
        short: 'l',
        value: 'code',
        summary: 'only voices of this language, such as en',
      },
      ...serviceOptions,
    },
    example: 'kinora voices --language en',
    run: async (input) => (await import('../account/list-voices.ts')).listVoices(input),
  }),
  defineCommand({
    words: 'usage',
    group: 'Follow',
    summary: 'Show the balance, and usage and cost by day, model or key.',
    details:
      'With --scope all or --account, which need the key of an operator, it is the usage of all accounts or of one, with its cost at the providers.',
    options: {
      by: {
        type: 'text',
        value: 'groups',
        default: 'day',
        summary: 'hour, day, model, key, for operators also account and provider, or several with commas',
      },
      scope: {
        type: 'text',
        choices: ['key', 'account', 'all'],
        default: 'key',
        summary: 'this key only, all keys of the account, or all accounts',
      },
      account: { type: 'text', value: 'name', summary: 'for operators: only this account' },
      days: { type: 'number', min: 1, max: 366, default: '30', summary: 'the period up to now' },
      ...operatorOptions,
    },
    example: 'kinora usage --by model --scope account',
    prints: 'the response of `GET /v1/usage`, or of `GET /admin/v1/usage` for operators',
    run: async ({ scope, account, url, ...input }) => {
      if (scope !== 'all' && account === undefined) {
        return (await import('../account/show-usage.ts')).showUsage({ scope, ...input })
      }
      return (await import('../operator/usage.ts')).showTotalUsage({ account, url, ...input })
    },
  }),
  defineCommand({
    words: 'characters create',
    group: 'Make',
    summary: 'Create a character from one to three seconds of a video.',
    options: {
      url: { type: 'text', summary: 'URL of a video that shows the character' },
      fromVideo: { type: 'text', value: 'id', summary: 'or the id of a finished video' },
      timestamps: { type: 'text', value: 'start,end', summary: 'the part of the video, in seconds' },
      ...serviceOptions,
    },
    example: 'kinora characters create --from-video vidB-2:1794783873-00wr0CHx8hiNIb --timestamps 0,2',
    run: async (input) => (await import('../videos/characters.ts')).createCharacter(input),
  }),
  defineCommand({
    words: 'characters list',
    group: 'Make',
    summary: 'List the characters of the account.',
    options: { ...limitOption, ...serviceOptions },
    example: 'kinora characters list',
    run: async (input) => (await import('../videos/characters.ts')).listCharacters(input),
  }),
  defineCommand({
    words: 'characters rename',
    group: 'Make',
    summary: 'Rename a character.',
    arguments: { id: { summary: 'id of the character' }, name: { summary: 'the new name' } },
    options: serviceOptions,
    example: 'kinora characters rename char_01 red.panda',
    run: async (input) => (await import('../videos/characters.ts')).renameCharacter(input),
  }),
  defineCommand({
    words: 'characters delete',
    group: 'Make',
    summary: 'Delete a character.',
    arguments: { id: { summary: 'id of the character' } },
    options: { yes: { type: 'flag', short: 'y', summary: 'do not ask' }, ...serviceOptions },
    example: 'kinora characters delete char_01',
    run: async (input) => (await import('../videos/characters.ts')).deleteCharacter(input),
  }),
]
