/** Skips the tests that stay on disk while the others run with media in S3. */
import { beforeEach } from 'vitest'

/** The name of each test, and why it is about the disk. */
const reasons = new Map([
  ['are handled in order, each after the response before it was read', 'counts open files'],
  ['a file that cannot be removed is skipped', 'puts a directory in the place of a file'],
])

beforeEach(({ task, skip }) => {
  const reason = reasons.get(task.name)
  if (process.env['TEST_MEDIA_STORE'] === 's3' && reason !== undefined) skip(reason)
})
