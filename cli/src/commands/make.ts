/** Commands that make something, and the login that they need. */
import { speechFormats, transcriptFormats } from '../audio/media-formats.ts'
import { defineCommand } from '../frame/command.ts'
import { resultOptions, serviceOptions } from './service-options.ts'

const recordingOptions = {
  model: { type: 'text', short: 'm', value: 'id', summary: 'the model (default: the first that can)' },
  format: {
    type: 'text',
    short: 'f',
    choices: transcriptFormats,
    default: 'text',
    summary: 'format of the transcript',
  },
  prompt: { type: 'text', value: 'text', summary: 'context, such as the spelling of names' },
  output: { type: 'text', short: 'o', value: 'file', summary: 'save the transcript in this file' },
  ...serviceOptions,
} as const

const quoteOptions = {
  model: { type: 'text', short: 'm', value: 'id', summary: 'the model (default: the first that can)' },
  seconds: { type: 'number', short: 's', min: 1, summary: 'duration of the video' },
  size: { type: 'text', value: 'size', summary: 'size of the video, such as 1280x720' },
  image: { type: 'list', short: 'i', value: 'file', summary: 'a reference image: a file or a URL' },
} as const

export const makeCommands = [
  defineCommand({
    words: 'login',
    group: 'Make',
    summary: 'Save the address and the key of a service as a profile.',
    details:
      'Asks for what is missing, checks the key, and stores both in ~/.config/kinora/profiles.json, which only you can read. Without a terminal the key is read from stdin. It may also be the key of an operator, for the commands under Operate.',
    options: {
      url: { type: 'text', summary: 'address of the service' },
      profile: { type: 'text', value: 'name', default: 'default', summary: 'name of the profile' },
      list: { type: 'flag', summary: 'list the profiles' },
      json: { type: 'flag', summary: 'print the key and its account, or the list, as JSON' },
    },
    example: 'kinora login --url https://media.example.com',
    prints: 'the response of `GET /v1/me`, or of `GET /admin/v1/settings` with the key of an operator',
    run: async (input) => (await import('../account/login.ts')).login(input),
  }),
  defineCommand({
    words: 'logout',
    group: 'Make',
    summary: 'Delete a profile.',
    options: { profile: { type: 'text', value: 'name', default: 'default', summary: 'name of the profile' } },
    example: 'kinora logout --profile staging',
    run: async (input) => (await import('../account/login.ts')).logout(input),
  }),
  defineCommand({
    words: 'video create',
    group: 'Make',
    summary: 'Create a video, follow it, and save or show it.',
    details:
      'Prints the file, or a link to the video. On a terminal, the finished video opens, or a frame of it is shown where the terminal can show pictures. Ctrl-C asks whether to cancel the video or leave it running.',
    arguments: { prompt: { summary: 'what the video shows; - reads it from stdin' } },
    options: {
      ...quoteOptions,
      ...resultOptions,
      ...serviceOptions,
    },
    example: 'kinora video create "A whale in a calm ocean at sunset" -o whale.mp4',
    run: async (input) => (await import('../videos/create.ts')).createVideo(input),
  }),
  defineCommand({
    words: 'video remix',
    group: 'Make',
    summary: 'Make a new video from a finished one, with another prompt.',
    arguments: {
      id: { summary: 'id of the finished video' },
      prompt: { summary: 'what the new video shows; - reads it from stdin' },
    },
    options: {
      size: quoteOptions.size,
      ...resultOptions,
      ...serviceOptions,
    },
    example: 'kinora video remix vidB-2:1794783873-00wr0CHx8hiNIb "The same, at night"',
    run: async (input) => (await import('../videos/create.ts')).remixVideo(input),
  }),
  defineCommand({
    words: 'speak',
    group: 'Make',
    summary: 'Speak a text. Saves the audio, or writes it to stdout.',
    arguments: { text: { summary: 'the text; - reads it from stdin' } },
    options: {
      model: { type: 'text', short: 'm', value: 'id', summary: 'the model (default: the first that speaks)' },
      voice: {
        type: 'text',
        short: 'v',
        value: 'name',
        summary: 'the voice (default: the first of the model)',
      },
      output: {
        type: 'text',
        short: 'o',
        value: 'file',
        summary: 'save the audio in this file, whose ending decides the format; - is stdout',
      },
      format: { type: 'text', short: 'f', choices: speechFormats, summary: 'format of the audio' },
      speed: {
        type: 'number',
        min: 0.25,
        max: 4,
        isDecimal: true,
        summary: 'speaking rate, from 0.25 to 4',
      },
      instructions: { type: 'text', value: 'text', summary: 'how to speak: tone, accent, pace' },
      open: { type: 'flag', summary: 'open the saved file' },
      ...serviceOptions,
    },
    example: 'kinora speak "Dinner is ready." -o dinner.mp3',
    prints: 'an object with the file, its format and its size: `{"file", "format", "bytes"}`',
    run: async (input) => (await import('../audio/speak.ts')).speak(input),
  }),
  defineCommand({
    words: 'transcribe',
    group: 'Make',
    summary: 'Transcribe a recording.',
    details: 'Recordings over 25 MB are transcribed by a task, which may take longer.',
    arguments: { file: { summary: 'the recording: a file, or - for stdin' } },
    options: {
      language: { type: 'text', short: 'l', value: 'code', summary: 'the spoken language, such as en' },
      ...recordingOptions,
    },
    example: 'kinora transcribe meeting.mp3 --format srt -o meeting.srt',
    run: async (input) => (await import('../audio/transcribe.ts')).transcribe(input),
  }),
  defineCommand({
    words: 'translate',
    group: 'Make',
    summary: 'Transcribe a recording and translate it into English.',
    arguments: { file: { summary: 'the recording: a file, or - for stdin' } },
    options: recordingOptions,
    example: 'kinora translate interview.mp3 --format vtt -o interview.vtt',
    run: async (input) => (await import('../audio/transcribe.ts')).translate(input),
  }),
  defineCommand({
    words: 'quote',
    group: 'Make',
    summary: 'Show what a video would cost, without creating it.',
    arguments: { prompt: { summary: 'what the video shows', isOptional: true } },
    options: { ...quoteOptions, ...serviceOptions },
    example: 'kinora quote --model vidB-2 --seconds 10',
    prints: 'an object `quote`: the response of [creates with `dry_run`](idempotency.md#quotes)',
    run: async (input) => (await import('../videos/quote.ts')).quote(input),
  }),
]
