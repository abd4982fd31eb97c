/** Uploads of four accounts that arrive just above the minimum rate and never end, as many as the limits of a key allow. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { formType, head, partHead } from './client.ts'
import type { Attack } from './target.ts'

const uploadsPerKey = 16
const announcedBytes = 900_000_000
/** More than a small body, which does not count as an upload. */
const firstPart = Buffer.alloc(70_000, 'z')
const drop = Buffer.alloc(4_500, 'z')
const dropsPerSecond = 4

export const heldUploads: Attack =
  async ({ uploaders }) =>
  async (client, signal) => {
    const holders = uploaders.flatMap((uploader) =>
      Array.from({ length: uploadsPerKey }, () => ({ ...uploader, socket: undefined as Socket | undefined })),
    )
    for (let tick = 0; !signal.aborted; tick += 1) {
      for (const holder of holders) {
        const { key, address, socket } = holder
        if (socket?.writable === true) socket.write(drop)
        else if (tick % dropsPerSecond === 0) {
          const opened = client.open(() => opened.destroy(), address)
          const headers = { 'content-type': formType, 'content-length': announcedBytes }
          opened.write(head('POST', '/v1/audio/transcription-tasks?dry_run=true', key, headers))
          opened.write(partHead('file', 'a.wav'))
          opened.write(firstPart)
          holder.socket = opened
        }
      }
      await sleep(1000 / dropsPerSecond, undefined, { signal }).catch(() => undefined)
    }
  }
