import { expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'

it('messages of errors are not logged', async () => {
  const head = `declare const log: any, error: any, dependencies: any\n`
  const found = await lintFixture({
    'gateway/src/auth/message.ts': `${head}log.warn({ id: 1, reason: error.message }, 'it.failed')\nexport {}`,
    'gateway/src/auth/template.ts': `${head}dependencies.log.info({ text: \`\${error.message}!\` }, 'x')\nexport {}`,
    'local/src/text.ts': `${head}log('local.failed', { error: String(error) }, 'warn')\nexport {}`,
    'gateway/src/auth/error.ts': `${head}log.warn({ err: error, code: error.code }, 'it.failed')\nexport {}`,
    'gateway/src/auth/other.ts': `${head}dependencies.send({ text: error.message })\nexport {}`,
  })
  const reports = [...found].map(([file, texts]) => [
    file,
    texts.filter((each) => each.includes('log-texts')).length,
  ])
  expect(Object.fromEntries(reports)).toEqual({
    'gateway/src/auth/message.ts': 1,
    'gateway/src/auth/template.ts': 1,
    'local/src/text.ts': 1,
    'gateway/src/auth/error.ts': 0,
    'gateway/src/auth/other.ts': 0,
  })
})
