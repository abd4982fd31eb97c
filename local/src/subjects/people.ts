import { mix, type Colour } from '../drawing/colour.ts'
import {
  box,
  circle,
  darker,
  ellipse,
  group,
  leg,
  lighter,
  line,
  shadow,
  shape,
  rotated,
  wave,
  type Look,
} from '../drawing/pen.ts'

const skins = ['#f0c39b', '#8d5a3b', '#d9a074', '#f3d0b0'] as const
const hairs = ['#4a2a18', '#1d1614', '#8a4b22', '#d8a64a'] as const
const clothes = ['#d8483f', '#2f74c9', '#3f9e6b', '#e8a530'] as const

interface Body {
  skin: Colour
  hair: Colour
  /** The colour of the shirt or dress. */
  cloth: Colour
  trousers: Colour
  longHair: boolean
  dress: boolean
}

function bodyOf({ colour, lit, index, word }: Look): Body {
  const girl =
    /^(?:woman|women|girl|girls|lady|ladies|mother|mum|mom|grandmother|grandma|queen|princess)$/.test(word)
  const boy = /^(?:man|men|boy|boys|father|dad|grandfather|grandpa|king|prince|farmer)$/.test(word)
  const female = girl || (!boy && index % 2 === 0)
  const old = word.startsWith('grand')
  return {
    skin: lit(skins[index % skins.length]!),
    hair: lit(old ? '#a9a7a8' : hairs[index % hairs.length]!),
    cloth: lit(index === 0 ? colour : mix(colour, clothes[index % clothes.length]!, 0.85)),
    trousers: lit(index % 2 === 0 ? '#34405c' : '#4c4038'),
    longHair: female,
    dress: female,
  }
}

function face(x: number, y: number, r: number, body: Body, aside: number): string {
  const eyes = [-1, 1]
    .map((side) => circle(x + side * r * 0.36 + aside, y - r * 0.02, r * 0.1, '#1c1518'))
    .join('')
  const long = body.longHair
    ? shape(
        `M${x - r * 1.06} ${y - r * 0.1}C${x - r * 1.2} ${y + r * 1.3} ${x - r * 0.9} ${y + r * 1.5} ${x - r * 0.5} ${y + r * 1.3}L${x + r * 0.6} ${y + r * 1.3}C${x + r * 1.1} ${y + r * 1.5} ${x + r * 1.3} ${y + r * 1.1} ${x + r * 1.06} ${y - r * 0.1}Z`,
        body.hair,
      )
    : ''
  const cap = shape(
    `M${x - r * 1.04} ${y + r * 0.08}C${x - r * 1.2} ${y - r * 1.3} ${x + r * 1.2} ${y - r * 1.3} ${x + r * 1.04} ${y + r * 0.08}C${x + r * 0.8} ${y - r * 0.5} ${x + r * 0.2 + aside} ${y - r * 0.62} ${x - r * 0.3 + aside} ${y - r * 0.5}C${x - r * 0.7} ${y - r * 0.44} ${x - r * 0.9} ${y - r * 0.2} ${x - r * 1.04} ${y + r * 0.08}Z`,
    body.hair,
  )
  return `${long}${circle(x, y, r, body.skin)}${eyes}${line(`M${x - r * 0.28 + aside} ${y + r * 0.38}Q${x + aside} ${y + r * 0.62} ${x + r * 0.28 + aside} ${y + r * 0.38}`, darker(body.skin, 0.5), r * 0.09)}${ellipse(x - r * 0.55 + aside * 0.7, y + r * 0.26, r * 0.15, r * 0.1, '#e8746c', 'opacity="0.45"')}${ellipse(x + r * 0.55 + aside * 0.7, y + r * 0.26, r * 0.15, r * 0.1, '#e8746c', 'opacity="0.45"')}${cap}`
}

/** A person who walks to the left, seen from the side. */
function walker(look: Look, body: Body): string {
  const { phase } = look
  const bob = 3 * wave(phase, 0, 2)
  const arm = (shift: number, shade: Colour) => {
    const swing = 26 * wave(phase, shift)
    return rotated(
      swing,
      0,
      -140,
      `${line('M0 -140L-2 -112L-10 -92', shade, 13)}${circle(-11, -88, 6.6, body.skin)}`,
    )
  }
  const limb = (shade: Colour) => ({ x: 0, y: -86, length: 82, width: 15, colour: shade, foot: '#2d2624' })
  const legColour = body.dress ? body.skin : body.trousers
  const torso = body.dress
    ? shape('M-15 -146Q0 -152 15 -146L20 -104L30 -58Q0 -48 -30 -58L-20 -104Z', body.cloth)
    : shape('M-17 -146Q0 -154 17 -146Q22 -110 17 -80Q0 -74 -17 -80Q-22 -110 -17 -146Z', body.cloth)
  return `${shadow(80)}${group(`translate(0 ${bob.toFixed(1)})`, `${arm(0.5, darker(body.cloth, 0.25))}${leg(limb(darker(legColour, 0.25)), phase + 0.5, 0.52)}${leg(limb(legColour), phase, 0.52)}${torso}${box(-6, -160, 12, 16, darker(body.skin, 0.12), 4)}${face(-2, -178, 23, body, -7)}${arm(0, darker(body.cloth, 0.08))}`)}`
}

/** A standing person who faces the viewer and raises an arm. */
function stander(look: Look, body: Body): string {
  const { phase, index } = look
  const sway = 1.5 * wave(phase, index * 0.4)
  const raise = 12 * wave(phase, index * 0.33)
  const legColour = body.dress ? body.skin : body.trousers
  const legs = [-10, 10]
    .map((x) => line(`M${x} -84V-8`, legColour, 16) + line(`M${x} -5h${x < 0 ? -7 : 7}`, '#2d2624', 11))
    .join('')
  const torso = body.dress
    ? shape('M-18 -148Q0 -154 18 -148L24 -104L40 -54Q0 -42 -40 -54L-24 -104Z', body.cloth)
    : shape('M-22 -146Q0 -154 22 -146Q26 -110 21 -76Q0 -70 -21 -76Q-26 -110 -22 -146Z', body.cloth)
  const arm = (side: number, degrees: number) =>
    rotated(
      degrees * side,
      side * 19,
      -140,
      `${line(`M${side * 19} -140L${side * 32} -112L${side * 36} -90`, darker(body.cloth, 0.1), 13)}${circle(side * 37, -85, 7, body.skin)}`,
    )
  return `${shadow(86)}${legs}${group(`translate(${sway.toFixed(1)} 0)`, `${arm(-1, 6)}${arm(1, index % 2 === 0 ? -104 + raise : 8)}${torso}${box(-7, -160, 14, 16, darker(body.skin, 0.12), 4)}${face(0, -180, 24, body, 0)}`)}`
}

export function drawPerson(look: Look): string {
  const body = bodyOf(look)
  return look.going ? walker(look, body) : stander(look, body)
}

export function drawChild(look: Look): string {
  const { phase, index } = look
  const body = bodyOf(look)
  const limb = (x: number, shade: Colour) => ({
    x,
    y: -46,
    length: 42,
    width: 13,
    colour: shade,
    foot: '#2d2624',
  })
  const legColour = body.dress ? body.skin : body.trousers
  const torso = body.dress
    ? shape('M-15 -90Q0 -96 15 -90L20 -64L31 -34Q0 -24 -31 -34L-20 -64Z', body.cloth)
    : shape('M-18 -90Q0 -96 18 -90Q22 -64 17 -40Q0 -34 -17 -40Q-22 -64 -18 -90Z', body.cloth)
  const hop = look.going ? 3 * wave(phase, index * 0.3, 2) : -5 * Math.abs(wave(phase, index * 0.3))
  const arm = (side: number, degrees: number) =>
    rotated(
      degrees * side,
      side * 14,
      -84,
      `${line(`M${side * 14} -84L${side * 22} -66L${side * 26} -52`, darker(body.cloth, 0.1), 11)}${circle(side * 27, -49, 6, body.skin)}`,
    )
  const raise = 16 * wave(phase, index * 0.3)
  const legs = look.going
    ? leg(limb(0, darker(legColour, 0.2)), phase + 0.5, 0.6) + leg(limb(0, legColour), phase, 0.6)
    : [-8, 8]
        .map((x) => line(`M${x} -44V-7`, legColour, 13) + line(`M${x} -5h${x < 0 ? -6 : 6}`, '#2d2624', 10))
        .join('')
  const arms = look.going ? arm(-1, 20 + raise) + arm(1, -20 + raise) : arm(-1, 20) + arm(1, -96 + raise)
  return `${shadow(70)}${group(`translate(0 ${hop.toFixed(1)})`, `${legs}${arms}${torso}${face(0, -118, 28, body, look.going ? -7 : 0)}`)}`
}

export function drawRobot({ colour, lit, phase, going }: Look): string {
  const metal = lit(colour)
  const dark = darker(metal, 0.35)
  const pale = lighter(metal, 0.4)
  const glow = '#7df3ff'
  const reach = going ? 0.34 : 0
  const bob = going ? 2 * wave(phase, 0, 2) : 1.6 * wave(phase)
  const limb = (x: number, shade: Colour) => ({ x, y: -66, length: 56, width: 19, colour: shade, foot: dark })
  const arm = (side: number, shift: number) =>
    rotated(
      (going ? 24 : 9) * wave(phase, shift) + (side > 0 && !going ? -52 + 16 * wave(phase, 0, 2) : 0),
      side * 48,
      -138,
      `${circle(side * 48, -138, 13, dark)}${line(`M${side * 50} -138L${side * 58} -106L${side * 54} -82`, metal, 14)}${line(`M${side * 54 - 8} -70Q${side * 54 - 12} -82 ${side * 54} -84Q${side * 54 + 12} -82 ${side * 54 + 8} -70`, dark, 6)}`,
    )
  const eye = (x: number) =>
    circle(x, -190, 11, '#16324a') + circle(x, -190, 7.4, glow) + circle(x - 2, -192, 2.4, '#ffffff')
  return `${shadow(130)}${group(`translate(0 ${bob.toFixed(1)})`, `${leg(limb(-18, darker(metal, 0.2)), phase + 0.5, reach, 14)}${leg(limb(18, metal), phase, reach, 14)}${arm(-1, 0)}${box(-44, -152, 88, 92, metal, 14)}${box(-32, -138, 64, 44, pale, 8)}${circle(-16, -122, 6, '#f0574c')}${circle(2, -122, 6, '#f6c93f')}${circle(20, -122, 6, '#56cf7a')}${line('M-24 -106H24', dark, 4)}${box(-12, -166, 24, 16, dark, 3)}${box(-42, -222, 84, 60, metal, 16)}${box(-33, -208, 66, 36, darker(metal, 0.55), 12)}${eye(-16)}${eye(16)}${line('M-12 -170H12', dark, 4)}${box(-50, -202, 9, 22, dark, 4)}${box(41, -202, 9, 22, dark, 4)}${line('M0 -222V-244', dark, 4)}${circle(0, -248, 8, phase < 0.5 ? '#ff5d52' : '#8c2f2a')}${arm(1, 0.5)}`)}`
}

export function drawSnowman({ colour, lit, phase }: Look): string {
  const snow = lit('#f7fafc')
  const shade = mix(snow, '#8fb0cc', 0.4)
  const scarf = lit(colour)
  const coal = lit('#23242b')
  const ball = (y: number, r: number) =>
    circle(0, y, r, shade) + circle(-r * 0.07, y - r * 0.06, r * 0.93, snow)
  const flutter = 5 * wave(phase)
  const wave1 = 5 * wave(phase)
  const arm = (side: number) =>
    rotated(
      side * wave1,
      side * 38,
      -118,
      line(
        `M${side * 36} -116L${side * 92} -152M${side * 76} -142L${side * 80} -164M${side * 80} -144L${side * 98} -142`,
        lit('#6a4629'),
        5.5,
      ),
    )
  return `${shadow(140)}${arm(-1)}${arm(1)}${ball(-50, 56)}${ball(-122, 42)}${ball(-178, 31)}${circle(0, -140, 4.5, coal)}${circle(0, -120, 4.5, coal)}${circle(0, -100, 4.5, coal)}${shape(`M-30 -158Q0 -144 30 -158L32 -146Q0 -132 -32 -146Z`, scarf)}${shape(`M12 -148L30 -146L${36 + flutter} -100L${18 + flutter} -98Z`, darker(scarf, 0.15))}${circle(-11, -184, 4.2, coal)}${circle(11, -184, 4.2, coal)}${shape('M-4 -177L-42 -170L-3 -167Z', lit('#f08a2c'))}${line('M-14 -162L-7 -158L1 -157L9 -159L16 -164', coal, 3.4, 'stroke-dasharray="0.1 7"')}${ellipse(0, -202, 44, 7, coal)}${box(-27, -244, 54, 42, coal, 4)}${box(-27, -216, 54, 9, scarf)}`
}

export function drawAstronaut({ lit, phase, palette }: Look): string {
  const suit = lit('#eef2fa')
  const shade = mix('#9aa6c4', palette.sky, 0.25)
  const kick = 5 * wave(phase)
  const art = `<defs><linearGradient id="visor" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="#ffd9a0"/><stop offset="0.35" stop-color="#31507f"/><stop offset="1" stop-color="#0a1226"/></linearGradient><linearGradient id="suit" x1="0" y1="0" x2="1" y2="0.6"><stop offset="0" stop-color="#ffffff"/><stop offset="0.55" stop-color="${suit}"/><stop offset="1" stop-color="${shade}"/></linearGradient></defs><g transform="rotate(-14)"><rect x="-27" y="-32" width="56" height="58" rx="13" fill="${shade}"/><g fill="none" stroke-linecap="round"><path d="M-10 20Q-17 44 ${-30 + kick} 58M10 20Q22 40 ${19 - kick} 62" stroke="${mix(suit, shade, 0.35)}" stroke-width="18"/><path d="M-17 -14Q-42 -8 -52 ${12 - kick}M17 -14Q42 -20 54 ${-40 + kick}" stroke="${mix(suit, shade, 0.15)}" stroke-width="14"/><path d="M${-32 + kick} 60L${-36 + kick} 62M${19 - kick} 64V68" stroke="#6d7896" stroke-width="18"/><path d="M-53 ${14 - kick}L-54 ${17 - kick}M55 ${-42 + kick}L56 ${-45 + kick}" stroke="#6d7896" stroke-width="13"/></g><rect x="-21" y="-28" width="42" height="54" rx="15" fill="url(#suit)"/><rect x="-11" y="-6" width="22" height="14" rx="3" fill="${shade}"/><circle cx="-5" cy="1" r="2.4" fill="#ff7a6b"/><circle cx="4" cy="1" r="2.4" fill="#7be0b0"/><circle cy="-46" r="25" fill="url(#suit)"/><ellipse cx="-3" cy="-45" rx="17" ry="15" fill="url(#visor)"/><path d="M-14 -52Q-9 -58 -2 -57" fill="none" stroke="#ffffff" stroke-opacity="0.8" stroke-width="2.6" stroke-linecap="round"/></g>`
  return group('translate(0 -98) scale(1.35)', art)
}
