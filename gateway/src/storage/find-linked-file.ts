import { ApiError } from '@kinora/contract/errors'

import { timeOfUuidV7 } from '../platform/ids/uuid.ts'
import type { Database } from '../platform/postgres.ts'
import { assertUnexpired } from './send-file.ts'
import type { LinkSigner } from './signed-link.ts'
import { findStoredFile, type StoredFile } from './stored-file-store.ts'

/**
 * Finds the stored file if a caller's URL is one of our own signed links; undefined for any other URL. Own links are
 * read from storage instead of being fetched. An invalid or expired link is an error.
 */
export type FindLinkedFile = (url: string) => Promise<StoredFile | undefined>

export const createFindLinkedFile =
  (database: Database, links: LinkSigner): FindLinkedFile =>
  async (url) => {
    const mediaId = links.mediaIdOf(url)
    if (mediaId === undefined) return undefined
    const file = timeOfUuidV7(mediaId) === undefined ? undefined : await findStoredFile(database, mediaId)
    if (file === undefined) throw new ApiError('media_not_found')
    assertUnexpired(file.expiresAt)
    return file
  }
