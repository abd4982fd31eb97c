import { expect, test } from 'vitest'

import { readNextPath } from './next-path.ts'

test.for(['/', '/start', '/tasks?status=failed&q=a%20whale', '/tasks/vid_1#timeline', '/tasks?q=鲸'])(
  'the sign-in leads to %s',
  (path) => expect(readNextPath(path)).toBe(path),
)

test.for([
  ...[
    'https://evil.example/',
    'HTTPS://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
  ],
  ...[
    'javascript:alert(1)',
    ' javascript:alert(1)',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
  ],
  ...['data:text/html,x', 'evil.example', '', 'start', undefined, 7, ['/start'], { href: '/start' }],
])('and not to %j', (value) => expect(readNextPath(value)).toBeUndefined())
