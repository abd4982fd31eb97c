import { developmentMicros } from '@kinora/gateway/seed'

import { formatMoney } from '../terminal/format.ts'
import { style } from '../terminal/print.ts'
import { showPath } from './data-files.ts'

interface Welcome {
  url: string
  /** Signs a browser in; undefined without a console. */
  consoleUrl: string | undefined
  key: string
  currency: string
  directory: string
  seconds: string
  /** Whether keys are read. */
  hasKeys: boolean
  /** `kinora` or `npx kinora`. */
  command: string
  /** Whether the commands in another terminal call this service, without variables that name it. */
  isFound: boolean
}

const commandLines = ({ url, key, command, isFound }: Welcome): string[] => [
  ...(isFound ? [] : [`export KINORA_URL=${url}`, `export KINORA_API_KEY=${key}`]),
  `${command} video create "A whale swims at sunset" -o whale.mp4`,
]

const curlLines = ({ url, key }: Welcome): string[] => [
  `curl ${url}/v1/videos -F model=vidB-2 -F seconds=4 \\`,
  '  -F size=1280x720 -F prompt="A whale swims at sunset" \\',
  `  -H "Authorization: Bearer ${key}"`,
]

/** What the screen says when everything runs. */
export const welcome = (options: Welcome): string => {
  const { url, consoleUrl, key, currency, directory, seconds, hasKeys, isFound } = options
  const place = isFound ? 'in another terminal, in this directory' : 'in another terminal'
  return [
    '',
    `  ${style('bold', 'Kinora is ready')} (${seconds} s)`,
    '',
    ...(consoleUrl === undefined ? [] : [`  Console  ${style('bold', consoleUrl)}`]),
    `  API      ${style('bold', `${url}/v1`)}`,
    `  OpenAI   ${style('bold', `${url}/openai/v1`)}   ${style('dim', 'base URL for the openai SDKs')}`,
    `  Docs     ${style('bold', `${url}/docs`)}`,
    `  Key      ${style('bold', key)}`,
    `           ${style('dim', `an account for development with ${formatMoney(developmentMicros, currency)}`)}`,
    `  Data     ${showPath(directory)}   ${style('dim', 'more keys in keys.json, logs in logs/')}`,
    '',
    `  ${hasKeys ? `Press v to make a video. Or, ${place}:` : `Make a video, ${place}:`}`,
    '',
    ...commandLines(options).map((line) => `    ${line}`),
    '',
    `  With any other client; GET ${style('bold', '/v1/videos/<id>')} then has the video_url:`,
    '',
    ...curlLines(options).map((line) => `    ${line}`),
    ...(hasKeys ? [] : ['', '  Press Ctrl-C to stop.']),
    '',
  ].join('\n')
}
