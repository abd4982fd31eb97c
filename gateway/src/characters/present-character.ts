import type { Character } from '@kinora/contract/operations/characters'

import type { LinkSigner } from '../storage/signed-link.ts'
import { publicIdOf, type StoredCharacter } from './character.ts'

export interface CharacterLinks {
  links: LinkSigner
  publicUrl: string
}

/** The subject that the link to a private character's page is signed for. */
export const pageOf = ({ id }: Pick<StoredCharacter, 'id'>): string => `character ${id}`

/** A character as its owner sees it. Links are signed again on each read. Only a private page needs a signed link. */
export const presentCharacter = (
  { links, publicUrl }: CharacterLinks,
  character: StoredCharacter,
): Character => {
  const page = `${publicUrl}/characters/${character.username}`
  return {
    id: publicIdOf(character.id),
    username: character.username,
    permalink: character.isPrivate ? `${page}?${links.query(pageOf(character))}` : page,
    profile_picture_url: links.link(character.portraitMediaId, 'portrait.jpg'),
  }
}
