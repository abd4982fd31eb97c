/** Shows a picture inside of terminals that can: by the protocol of iTerm, which takes JPEG as it is, or of kitty. */
import { readTerminal } from '../connection/environment.ts'

const escape = '\u001B'
const bell = '\u0007'
const chunkCharacters = 4_096
const rows = 12

type Protocol = 'iterm' | 'kitty'

export const findPictureProtocol = (
  {
    term,
    program,
    isKitty,
    isMultiplexed,
  }: Pick<ReturnType<typeof readTerminal>, 'term' | 'program' | 'isKitty' | 'isMultiplexed'> = readTerminal(),
): Protocol | undefined => {
  // tmux and screen do not pass pictures on.
  if (isMultiplexed) return undefined
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(program)) return 'iterm'
  if (isKitty || term === 'xterm-kitty' || term === 'xterm-ghostty' || program === 'ghostty') return 'kitty'
  return undefined
}

const drawForITerm = (picture: Buffer): string =>
  `${escape}]1337;File=inline=1;height=${rows};preserveAspectRatio=1;size=${picture.length}:${picture.toString('base64')}${bell}\n`

/** kitty takes PNG, in chunks. */
const drawForKitty = (png: Buffer): string => {
  const data = png.toString('base64')
  const parts = data.match(new RegExp(`.{1,${chunkCharacters}}`, 'g')) ?? []
  return `${parts
    .map((part, index) => {
      const more = index === parts.length - 1 ? 0 : 1
      const control = index === 0 ? `a=T,f=100,q=2,r=${rows},m=${more}` : `m=${more}`
      return `${escape}_G${control};${part}${escape}\\`
    })
    .join('')}\n`
}

/** The text that shows a JPEG on a terminal; undefined if it cannot be converted. */
export const drawPicture = async (
  jpeg: Buffer,
  protocol: Protocol,
  convert: (jpeg: Buffer) => Promise<Buffer>,
): Promise<string> => (protocol === 'iterm' ? drawForITerm(jpeg) : drawForKitty(await convert(jpeg)))
