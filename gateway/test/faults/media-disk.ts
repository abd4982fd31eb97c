/** A disk of its own for the media directory, in memory, which can be full. Only root can mount it. */
import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface MediaDisk extends AsyncDisposable {
  /** Takes all free space. */
  fill: () => Promise<void>
  /** Gives it back. */
  empty: () => Promise<void>
}

/** More than the free space that the API requires for uploads by default. */
const sizeBytes = 4 * 1024 ** 3

const attemptsMax = 50

const run = promisify(execFile)

/** Why the disk cannot be mounted on this machine; undefined if it can. */
export const mediaDiskProblem = process.getuid?.() === 0 ? undefined : 'it needs root, to mount a small disk'

export const mountMediaDisk = async (directory: string): Promise<MediaDisk> => {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'kinora-faults', directory])
  const resize = (bytes: number) => run('mount', ['-o', `remount,size=${bytes}`, directory])
  return {
    fill: async () => {
      for (let attempt = 1; ; attempt += 1) {
        const { blocks, bfree, bsize } = await statfs(directory)
        try {
          await resize((blocks - bfree) * bsize)
          return
        } catch (error) {
          // It fails if something was written meanwhile.
          if (attempt === attemptsMax) throw error
        }
      }
    },
    empty: async () => {
      await resize(sizeBytes)
    },
    [Symbol.asyncDispose]: async () => {
      // Lazily, because a process that is ending may still have a file open.
      await run('umount', ['--lazy', directory])
    },
  }
}
