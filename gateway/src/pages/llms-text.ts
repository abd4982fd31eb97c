/** The texts for language models: an overview after the convention of llmstxt.org, and everything in one file. */
import { existsSync, readFileSync } from 'node:fs'

import { errors } from '@kinora/contract/errors'
import { tags } from '@kinora/contract/tags'
import { taskErrors } from '@kinora/contract/task-errors'

import { guideNames } from './guides.ts'
import { operationText } from './operation-text.ts'
import type { PageUrls } from './page-urls.ts'

const packaged = new URL('../../guides/', import.meta.url)
const sources = new URL('../../../docs/', import.meta.url)

const introduction = (urls: PageUrls) => `# Kinora

> Kinora is one HTTP API for generated video, speech, transcription and chat with audio. It passes requests to providers, bills them, and stores results.

- Base URL: ${urls.base_url}
- Base URL for the official \`openai\` libraries: ${urls.openai_base_url}
- Send the API key as \`Authorization: Bearer sk-…\`. The operator of the instance creates keys.
- Videos and long recordings are tasks: create one, wait with \`?wait=60\` or its event stream until it is \`completed\` or \`failed\`, then download the result.
- Every error has a \`code\` for programs and a \`hint\`. Send an \`Idempotency-Key\` with requests that create something, to repeat them safely.
`

export const llmsText = (urls: PageUrls): string => `${introduction(urls)}
## Docs

- [Guides and reference](${urls.base_url}/llms-full.txt): everything about the API in one text
- [API reference](${urls.docs_url}): for people, with code for each operation
- [OpenAPI document](${urls.openapi_url}): every operation, parameter and field
- [Error codes](${urls.errors_url}): what each means, and what to do

## Operations

${tags
  .flatMap((tag) =>
    tag.operations.map(
      ({ method, path, summary, id }) =>
        `- [${method} ${path}](${urls.base_url}/llms-full.txt#${id.toLowerCase()}): ${summary}`,
    ),
  )
  .join('\n')}

## Optional

- [Status](${urls.status_url}): how well each kind of model works
`

/** Links to other pages lead nowhere in one text, and comments are for our tools. */
const withoutLinks = (page: string) =>
  page
    .replace(/!\[[^\]]*\]\([^)]*\)\n*/g, '')
    .replace(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, '$1')
    .replace(/<!--.*?-->\n?/gs, '')
    .replace(/^#/gm, '##')

const readGuide = (name: string): string => {
  const directory = existsSync(packaged) ? packaged : sources
  return withoutLinks(readFileSync(new URL(name, directory), 'utf8'))
}

const errorLines = () =>
  Object.entries(errors).map(
    ([code, { status, message, hint }]) => `- \`${code}\` (${status}): ${message} ${hint}`,
  )

const taskErrorLines = () => Object.entries(taskErrors).map(([code, message]) => `- \`${code}\`: ${message}`)

export const llmsFullText = (urls: PageUrls): string =>
  [
    introduction(urls),
    ...guideNames.map(readGuide),
    '## Reference\n',
    ...tags.flatMap(({ name, description, operations }) => [
      `### ${name}\n\n${description}\n`,
      ...operations.map(operationText),
    ]),
    '## Errors of requests\n',
    ...errorLines(),
    '\n## Errors of failed tasks\n',
    ...taskErrorLines(),
    '',
  ].join('\n')
