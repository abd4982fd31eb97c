import { expect, test } from 'vitest'

import { openLink } from './open-file.ts'

test.for(['-a Calculator', '/usr/bin/true', 'file:///usr/bin/true', '\\\\host\\share\\program.exe', ''])(
  'the link %s of a service is not opened',
  async (link) => {
    expect(await openLink(link)).toBe(false)
  },
)
