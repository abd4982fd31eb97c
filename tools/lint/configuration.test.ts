import { expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'

const broken: Record<string, [text: string, rule: string]> = {
  'gateway/src/auth/floating.ts': [
    'async function load() {}\nexport function start() {\n  load()\n}',
    'typescript(no-floating-promises)',
  ],
  'gateway/src/auth/misused.ts': [
    'export const has = (load: () => Promise<boolean>) => {\n  if (load()) return 1\n  return 2\n}',
    'typescript(no-misused-promises)',
  ],
  'gateway/src/auth/thenable.ts': [
    'export const wait = async (value: number) => {\n  await value\n}',
    'typescript(await-thenable)',
  ],
  'gateway/src/auth/exhaustive.ts': [
    "export const pick = (value: 'a' | 'b') => {\n  switch (value) {\n    case 'a':\n      return 1\n  }\n  return 2\n}",
    'typescript(switch-exhaustiveness-check)',
  ],
  'gateway/src/auth/default.ts': ['export default 1', 'import(no-default-export)'],
  'gateway/src/auth/console.ts': ["console.log('x')", 'eslint(no-console)'],
  'local/src/console.ts': ["console.log('x')", 'eslint(no-console)'],
  'gateway/src/auth/unreasoned.ts': [
    '// oxlint-disable-next-line no-debugger\ndebugger',
    'kinora(disable-reasons): Add the reason',
  ],
  'gateway/src/auth/unnamed.ts': [
    '/* oxlint-disable -- all of it */\ndebugger',
    'unicorn(no-abusive-eslint-disable)',
  ],
  'gateway/src/auth/mute.ts': ["// @ts-ignore\nexport const x: number = 'y'", 'typescript(ban-ts-comment)'],
}

const correct: Record<string, string> = {
  'gateway/src/auth/reasoned.ts': '// oxlint-disable-next-line no-debugger -- shown in a test\ndebugger',
  'gateway/src/auth/default-case.ts':
    "export const pick = (value: 'a' | 'b') => {\n  switch (value) {\n    case 'a':\n      return 1\n    default:\n      return 2\n  }\n}",
  'cli/src/console.ts': "console.log('x')",
  'vitest.config.ts': 'export default {}',
}

it('the configuration reports each kind of mistake, including those that need types', async () => {
  const texts = Object.entries(broken).map(([file, [text]]) => [file, text])
  const found = await lintFixture({ ...Object.fromEntries(texts), ...correct }, { typeAware: true })
  for (const [file, [, rule]] of Object.entries(broken)) {
    expect(found.get(file), file).toContainEqual(expect.stringContaining(rule))
  }
  for (const file of Object.keys(correct)) expect(found.get(file), file).toEqual([])
})
