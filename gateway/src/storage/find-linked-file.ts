import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../platform/postgres.ts'
import { timeOfUuidV7 } from '../platform/uuid.ts'
import type { LinkSigner } from './signed-link.ts'
import { findStoredFile, type StoredFile } from './stored-file-store.ts'

/**
 * The file behind an address that a caller gave, where that is one of our own links; undefined for any other
 * address. Such a link is read from storage and never fetched, and one that would not open is refused.
 */
export type FindLinkedFile = (url: string) => Promise<StoredFile | undefined>

export const createFindLinkedFile =
  (database: Database, links: LinkSigner): FindLinkedFile =>
  async (url) => {
    const mediaId = links.mediaIdOf(url)
    if (mediaId === undefined) return undefined
    const file = timeOfUuidV7(mediaId) === undefined ? undefined : await findStoredFile(database, mediaId)
    if (file === undefined) throw new ApiError('media_not_found')
    if (file.expiresAt !== null && file.expiresAt.getTime() <= Date.now()) throw new ApiError('media_expired')
    return file
  }
