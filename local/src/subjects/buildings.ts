import { mix, type Colour } from '../drawing/colour.ts'
import { box, circle, darker, group, lighter, line, shadow, shape, wave, type Look } from '../drawing/pen.ts'

interface House {
  wall: Colour
  roof: Colour
  lit: Look['lit']
  phase: number
  smoke: boolean
}

function house({ wall, roof, lit, phase, smoke }: House): string {
  const glow = lit('#ffe39a')
  const trim = lighter(wall, 0.55)
  const pane = (x: number, y: number) =>
    `${box(x - 3, y - 3, 42, 46, trim, 3)}${box(x, y, 36, 40, glow, 2)}${line(`M${x + 18} ${y}v40M${x} ${y + 20}h36`, trim, 3)}`
  let puffs = ''
  for (let puff = 0; smoke && puff < 3; puff++) {
    const age = (puff + phase) / 3
    puffs += circle(
      64 + 26 * age,
      -226 - 46 * age,
      7 + 13 * age,
      '#f1efec',
      `opacity="${(0.65 * (1 - age)).toFixed(2)}"`,
    )
  }
  return `${puffs}${box(50, -222, 26, 66, darker(roof, 0.3))}${box(-92, -116, 184, 116, wall)}${shape('M92 -116V0H46V-116Z', darker(wall, 0.1))}${shape('M-116 -112L0 -208L116 -112L108 -104H-108Z', roof)}${shape('M0 -208L116 -112L108 -104H96L0 -190Z', darker(roof, 0.16))}${circle(0, -142, 13, trim)}${circle(0, -142, 9, glow)}${box(-22, -72, 44, 72, darker(roof, 0.3), 4)}${box(-17, -66, 34, 66, mix(roof, '#6a3d22', 0.5), 3)}${circle(10, -34, 3, lit('#f6d26a'))}${pane(-76, -86)}${pane(42, -86)}${box(-30, -4, 60, 6, lit('#a59d92'))}`
}

export function drawHouse({ colour, lit, phase }: Look): string {
  const wall = lit(colour)
  const roof = lit(colour === '#d8342c' ? '#5a4a48' : '#b24a38')
  return shadow(240) + house({ wall, roof, lit, phase, smoke: true })
}

const villageWalls = ['#f0e2c4', '#e8cfae', '#f6efe2', '#dcbfa2', '#f2dcb8'] as const
const villageRoofs = ['#b24a38', '#a5583a', '#8f3f35', '#c06a45', '#9b4a3c'] as const

/** Houses around a church; farther ones are smaller and higher. */
export function drawVillage({ lit, phase }: Look): string {
  const places = [
    [-150, -46, 0.5, false],
    [96, -50, 0.5, true],
    [-222, -12, 0.66, true],
    [178, -14, 0.68, false],
    [-82, 0, 0.8, true],
  ] as const
  const tower = `${box(6, -196, 62, 160, lit('#f2ead8'))}${shape('M-2 -194L37 -286L76 -194Z', lit('#7a5148'))}${line('M37 -286V-312M28 -302H46', lit('#4b3a34'), 4)}${circle(37, -160, 13, lit('#fffaf0'))}${line('M37 -160V-169M37 -160H44', '#2c2626', 2.6)}${box(26, -126, 22, 36, lit('#6b5a58'), 11)}${box(60, -110, 92, 74, lit('#f2ead8'))}${shape('M54 -108L106 -150L158 -108Z', lit('#a5583a'))}`
  const houses = places.map(([x, y, scale, smoke], index) =>
    group(
      `translate(${x} ${y}) scale(${scale})`,
      house({ wall: lit(villageWalls[index]!), roof: lit(villageRoofs[index]!), lit, phase, smoke }),
    ),
  )
  return (
    houses.slice(0, 2).join('') +
    tower +
    houses.slice(2).join('') +
    group(
      'translate(112 4) scale(0.74)',
      house({ wall: lit('#e9d6b4'), roof: lit('#b5573f'), lit, phase, smoke: false }),
    )
  )
}

/** The height of the deck of the bridge above the water. */
export const bridgeDeck = 118

export function drawBridge({ colour, lit, span }: Look): string {
  const stone = lit(colour)
  const half = span / 2 + 40
  const shade = darker(stone, 0.3)
  let arches = ''
  let rims = ''
  let blocks = ''
  const pitch = 236
  const count = Math.ceil(half / pitch) + 1
  for (let index = -count; index <= count; index++) {
    const x = index * pitch
    arches += `M${x - 92} 30V-8A92 84 0 0 1 ${x + 92} -8V30Z`
    rims += `M${x - 92} 20V-8A92 84 0 0 1 ${x + 92} -8V20`
    for (let row = 0; row < 3; row++) blocks += `M${x + 104} ${-14 - row * 26}h28M${x - 40 + row * 30} -104v8`
  }
  return `<path fill-rule="evenodd" d="M${-half} ${-bridgeDeck}H${half}V30H${-half}Z${arches}" fill="${stone}"/>${line(rims, shade, 6)}${line(blocks, shade, 2.4, 'stroke-opacity="0.5"')}${box(-half, -bridgeDeck - 4, half * 2, 12, lighter(stone, 0.22))}${box(-half, -bridgeDeck + 8, half * 2, 4, shade)}`
}

export function drawCastle({ colour, lit, phase }: Look): string {
  const stone = lit(colour)
  const dark = darker(stone, 0.18)
  const roof = lit('#5a6fb0')
  const hole = lit('#4a3f4f')
  const battlement = (x: number, y: number, width: number, shade: Colour) => {
    let teeth = ''
    for (let at = x; at < x + width - 8; at += 22) teeth += box(at, y - 13, 13, 15, shade)
    return teeth
  }
  const tower = (x: number, top: number, width: number, shade: Colour) =>
    `${box(x, top, width, -top, shade)}${shape(`M${x - 9} ${top}L${x + width / 2} ${top - 84}L${x + width + 9} ${top}Z`, roof)}${shape(`M${x + width / 2} ${top - 84}L${x + width + 9} ${top}H${x + width / 2}Z`, darker(roof, 0.2))}${box(x + width / 2 - 7, top + 26, 14, 30, hole, 7)}${flag(x + width / 2, top - 84, lit('#d8433a'), phase)}`
  return `${shadow(330)}${tower(-50, -236, 56, dark)}${tower(24, -206, 48, dark)}${box(-120, -130, 240, 130, stone)}${battlement(-118, -130, 240, stone)}${tower(-158, -176, 62, stone)}${tower(96, -176, 62, stone)}${shape('M-30 0V-52A30 34 0 0 1 30 -52V0Z', hole)}${line('M-18 0V-76M0 0V-84M18 0V-76M-29 -30H29M-29 -54H29', darker(stone, 0.5), 3)}${box(-84, -92, 14, 28, hole, 7)}${box(70, -92, 14, 28, hole, 7)}`
}

function flag(x: number, y: number, colour: Colour, phase: number): string {
  const flap = 4 * wave(phase)
  return `${line(`M${x} ${y + 4}V${y - 26}`, '#4a3f3a', 3)}${shape(`M${x} ${y - 26}Q${x + 14} ${y - 32 + flap} ${x + 30} ${y - 22 + flap}Q${x + 14} ${y - 18 - flap} ${x} ${y - 12}Z`, colour)}`
}

export function drawLighthouse({ colour, lit, phase }: Look): string {
  const paint = lit(colour)
  const white = lit('#f7f4ee')
  const beam = 0.12 + 0.34 * Math.max(0, wave(phase))
  return `<defs><linearGradient id="beam"><stop offset="0" stop-color="#fff2bf" stop-opacity="0"/><stop offset="1" stop-color="#fff2bf"/></linearGradient></defs>${shape('M-330 -330L0 -268L0 -256L-330 -212Z', 'url(#beam)', `opacity="${beam.toFixed(2)}"`)}${shape('M-96 0Q-60 -34 0 -30Q60 -36 100 0Z', lit('#6d6a70'))}${shape('M-38 -24L-26 -232H26L38 -24Z', white)}${shape('M-35.6 -66L-33 -112H33L35.6 -66ZM-30.5 -154L-28 -198H28L30.5 -154Z', paint)}${shape('M12 -232H26L38 -24H20Z', '#1a1820', 'opacity="0.14"')}${box(-36, -240, 72, 10, lit('#3a3c46'), 3)}${box(-22, -280, 44, 42, lit('#ffe89a'), 3)}${line('M-22 -280V-238M0 -280V-238M22 -280V-238', lit('#3a3c46'), 3.6)}${shape('M-30 -278L0 -310L30 -278Z', paint)}${box(-9, -60, 18, 34, lit('#4a4048'), 8)}`
}
