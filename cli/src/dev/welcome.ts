import { styleText } from 'node:util'

import { developmentBalance, type DevelopmentKeys } from '@kinora/gateway/seed'

import { showPath } from './data-files.ts'

interface Welcome {
  url: string
  keys: DevelopmentKeys
  currency: string
  directory: string
  seconds: string
  /** Whether keys are read. */
  hasKeys: boolean
}

const dim = (text: string) => styleText('dim', text, { stream: process.stdout })
const bold = (text: string) => styleText('bold', text, { stream: process.stdout })

const createCurl = (url: string, key: string) => [
  `curl ${url}/v1/videos \\`,
  `  -H "Authorization: Bearer ${key}" \\`,
  '  -F model=vidB-2 -F seconds=10 -F size=1280x720 \\',
  '  -F prompt="A whale swimming through a calm ocean at sunset"',
]

const readCurl = (url: string, key: string) => [
  `curl ${url}/v1/videos/<id> \\`,
  `  -H "Authorization: Bearer ${key}" \\`,
  '  -H "Prefer: wait=60"',
]

/** What the screen says when everything runs. */
export const welcome = ({ url, keys, currency, directory, seconds, hasKeys }: Welcome): string => {
  const data = showPath(directory)
  return [
    '',
    `  ${bold('Kinora is ready')} (${seconds} s)`,
    '',
    `  API      ${bold(`${url}/v1`)}`,
    `  OpenAI   ${bold(`${url}/openai/v1`)}   ${dim('base URL for the openai SDKs')}`,
    `  Key      ${bold(keys.payg)}`,
    `           ${dim(`an account for development with ${developmentBalance(currency)}`)}`,
    `  Data     ${data}   ${dim('more keys in keys.json, logs in logs/')}`,
    '',
    `  ${hasKeys ? 'Press v to make a video. Or, in another terminal:' : 'Make a video:'}`,
    '',
    ...createCurl(url, keys.payg).map((line) => `    ${line}`),
    '',
    '  Its link is video_url in the response to:',
    '',
    ...readCurl(url, keys.payg).map((line) => `    ${line}`),
    ...(hasKeys ? [] : ['', '  Press Ctrl-C to stop.']),
    '',
  ].join('\n')
}
