import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { timeOfUuidV7 } from '../platform/ids/uuid.ts'
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from './port/media-store.ts'
import { sendFile } from './send-file.ts'
import type { LinkSigner } from './signed-link.ts'
import { findStoredFile } from './stored-file-store.ts'

export const getMedia =
  ({
    database,
    mediaStore,
    links,
    redirectSeconds,
  }: {
    database: Database
    mediaStore: MediaStore
    links: LinkSigner
    /** How long the URL of a redirect is valid; 0 to send the file instead. */
    redirectSeconds: number
  }): Handler<typeof operations.getMedia> =>
  async (call) => {
    const id = links.mediaIdOfPath(call.url)
    const file = timeOfUuidV7(id) === undefined ? undefined : await findStoredFile(database, id)
    if (file === undefined) throw new ApiError('media_not_found')
    return sendFile(mediaStore, file, call, { disposition: 'inline', redirectSeconds })
  }
