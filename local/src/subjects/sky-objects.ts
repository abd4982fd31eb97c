import { mix } from '../drawing/colour.ts'
import { box, darker, ellipse, lighter, line, shape, wave, type Look } from '../drawing/pen.ts'

export function drawHotAirBalloon({ colour, lit, phase, palette }: Look): string {
  const stripe = lit(colour)
  const cloth = mix(lit('#fbf4e4'), palette.light, 0.3)
  const basket = lit('#8a5a36')
  const flame = 10 + 5 * wave(phase, 0, 4)
  return `<defs><radialGradient id="round" cx="0.35" cy="0.3" r="0.8"><stop offset="0.3" stop-color="#000" stop-opacity="0"/><stop offset="1" stop-color="#000" stop-opacity="0.42"/></radialGradient><clipPath id="cloth"><path d="M0 62C-16 46 -56 24 -56 -18C-56 -50 -30 -74 0 -74C30 -74 56 -50 56 -18C56 24 16 46 0 62Z"/></clipPath></defs>${line('M-12 56L-9 80M12 56L9 80', basket, 1.6)}<g clip-path="url(#cloth)"><rect x="-60" y="-80" width="120" height="150" fill="${cloth}"/><g fill="${stripe}"><ellipse rx="15" ry="82" cy="-8"/><path d="M-60 -80H-34C-50 -40 -46 20 -8 64H-60ZM60 -80H34C50 -40 46 20 8 64H60Z"/></g><rect x="-60" y="-80" width="120" height="150" fill="url(#round)"/></g>${shape(`M-3 74Q0 ${74 - flame} 3 74Z`, '#ffd46a')}${box(-11, 80, 22, 16, basket, 3)}`
}

/** The origin is the lower end of the string, where a hand holds it. */
export function drawToyBalloon({ colour, lit, phase, index }: Look): string {
  const skin = lit(
    index === 0 ? colour : mix(colour, ['#2f74c9', '#f6c92f', '#4da255', '#f08bb0'][index % 4]!, 0.85),
  )
  const drift = 9 * wave(phase, index * 0.3)
  return `${line(`M0 0C${-12 + drift} -50 ${14 + drift} -90 ${drift} -142`, '#f4f1ea', 2.2, 'stroke-opacity="0.9"')}<g transform="translate(${drift.toFixed(1)} 0)">${shape('M-7 -136L0 -148L7 -136Z', darker(skin, 0.2))}${shape('M0 -146C-30 -160 -46 -188 -44 -214C-42 -244 -22 -260 0 -260C22 -260 42 -244 44 -214C46 -188 30 -160 0 -146Z', skin)}${shape('M14 -152C36 -172 44 -196 40 -222C50 -190 38 -162 14 -152Z', darker(skin, 0.22))}${ellipse(-18, -228, 10, 17, lighter(skin, 0.6), 'transform="rotate(24 -18 -228)" opacity="0.8"')}</g>`
}

/** The end of the string of a kite. */
export const kiteString = { x: -150, y: 250 }

export function drawKite({ colour, lit, phase }: Look): string {
  const cloth = lit(colour)
  const flap = 8 * wave(phase)
  let bows = ''
  for (const [index, tone] of ['#f6c92f', '#2f74c9', '#4da255'].entries()) {
    const x = 34 + index * 26 + flap * (0.4 + index * 0.3)
    const y = 66 + index * 30
    bows += shape(`M${x} ${y}l-12 -8v16ZM${x} ${y}l12 -8v16Z`, lit(tone))
  }
  return `${line(`M0 0C-40 120 -90 190 -150 250`, '#f7f4ee', 1.8, 'stroke-opacity="0.75"')}${line(`M20 50C40 70 ${40 + flap} 90 ${66 + flap} 108S${84 + flap} 140 ${96 + flap} 150`, lit('#efe9dc'), 3)}${bows}<g transform="rotate(${(14 + flap * 0.5).toFixed(1)})">${shape('M0 -74L48 -14L0 60L-48 -14Z', cloth)}${shape('M0 -74L48 -14H0Z', lighter(cloth, 0.35))}${shape('M0 60L-48 -14H0Z', darker(cloth, 0.2))}${line('M0 -74V60M-48 -14H48', darker(cloth, 0.5), 2.6)}</g>`
}

const rainbowTones = ['#e5483f', '#f0913a', '#f6d545', '#58b368', '#3f8fd6', '#7c5bc0']

export function drawRainbow({ span }: Look): string {
  const reach = Math.min(520, span * 0.42)
  return rainbowTones
    .map((tone, index) => {
      const r = reach - index * 15
      return line(
        `M${-r} 0A${r} ${r * 0.86} 0 0 1 ${r} 0`,
        tone,
        15.5,
        'stroke-opacity="0.62" style="stroke-linecap:butt"',
      )
    })
    .join('')
}

/** Two short flashes in each loop. */
export function drawLightning({ phase }: Look): string {
  const strength =
    phase < 0.06
      ? 1
      : phase < 0.1
        ? 0.2
        : phase < 0.2
          ? 0.9
          : phase < 0.5
            ? 0.75 * (1 - (phase - 0.2) / 0.3)
            : 0
  if (strength === 0) return ''
  const bolt = 'M12 -330L-34 -214L4 -222L-52 -106L-10 -118L-70 0'
  const branches = 'M-34 -214L-84 -166L-76 -152M-52 -106L4 -66L-4 -52M4 -222L56 -176L52 -150'
  return `<g opacity="${strength.toFixed(2)}">${line(bolt, '#bcd8ff', 34, 'stroke-opacity="0.16"')}${line(bolt + branches, '#d5e6ff', 14, 'stroke-opacity="0.35"')}${line(branches, '#f2f7ff', 3)}${line(bolt, '#ffffff', 7)}</g>`
}

export function drawDragon({ colour, lit, phase }: Look): string {
  const body = lit(colour)
  const wing = lighter(body, 0.16)
  const beat = 0.72 + 0.28 * wave(phase)
  return `<g transform="translate(0 ${(-8 * wave(phase)).toFixed(1)})"><g transform="translate(0 -8) scale(1 ${beat.toFixed(3)})">${shape('M-36 0C-44 -30 -62 -58 -98 -76C-90 -64 -87 -54 -88 -44C-78 -43 -69 -36 -65 -26C-56 -25 -49 -16 -45 0Z', darker(wing, 0.2))}</g>${shape('M-112 -9L-100 -17L-92 -21L-80 -34L-84 -19C-72 -15 -58 -5 -40 -9C-20 -15 2 -14 24 -5C54 8 80 12 108 -2L128 -18L124 -2L136 6L110 7C82 24 46 25 16 15C8 26 -2 28 -8 26C-3 22 -2 17 -3 12C-18 11 -30 12 -42 9C-60 9 -72 0 -86 -4L-102 -2L-96 -7Z', body)}${shape('M-88 -14a2.6 2.6 0 1 0 -5 -1Z', '#ffd75e')}<g transform="translate(0 -6) scale(1 ${beat.toFixed(3)})">${shape('M-32 0C-34 -38 -16 -78 28 -104C23 -90 25 -78 33 -68C43 -60 56 -55 72 -54C59 -44 54 -35 54 -24C42 -24 32 -14 28 2Z', wing)}${line('M-30 -4C-24 -38 -6 -74 26 -100M-24 -4C-8 -32 12 -56 32 -68M-14 -2C8 -18 30 -28 54 -26', darker(body, 0.3), 1.8)}</g></g>`
}
