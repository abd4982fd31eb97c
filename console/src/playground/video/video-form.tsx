/** The values of a video. What the model cannot make stays visible, with the way out. */
import { RectangleHorizontal, RectangleVertical, Square } from 'lucide-react'
import type { ReactNode } from 'react'

import { formatMoney } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { ChoiceField, type Choice } from '../../ui/choice.tsx'
import { SwitchField, TextField } from '../../ui/field.tsx'
import { fitForm, readCosting, type VideoForm } from './form.ts'
import { ImageField, readImages } from './image-field.tsx'
import {
  estimatePrice,
  findSize,
  formatSize,
  makesSeconds,
  taskPath,
  type Offer,
  type Size,
} from './offers.ts'
import { PromptField } from './prompt-field.tsx'
import { videoTexts } from './texts.ts'

import styles from './video-form.module.css'

interface VideoFormFieldsProps {
  form: VideoForm
  offer: Offer
  /** Those that may make the video: the chosen one, or all that are compared. */
  makers: Offer[]
  offers: Offer[]
  onChange: (form: VideoForm) => void
  /** The models, or the source of a remix. */
  children: ReactNode
  /** Only the prompt and the size can be chosen. */
  isRemix?: boolean
}

/** Other models that make it, the cheapest first. */
const findAlternative = (offers: Offer[], form: VideoForm): Offer | undefined =>
  offers
    .filter((offer) => makesSeconds(offer, form.seconds) && findSize(offer, form) !== undefined)
    .toSorted(
      (left, right) =>
        Math.max(0, left.minImages - form.images.length) -
          Math.max(0, right.minImages - form.images.length) ||
        estimatePrice(left.model, readCosting(form)) - estimatePrice(right.model, readCosting(form)),
    )[0]

const SizeLabel = ({ size }: { size: Pick<Size, 'width' | 'height'> }) => {
  const Icon =
    size.width === size.height ? Square : size.width > size.height ? RectangleHorizontal : RectangleVertical
  return (
    <>
      <Icon aria-hidden />
      {formatSize(size)}
    </>
  )
}

export const VideoFormFields = ({
  form,
  offer,
  makers,
  offers,
  onChange,
  children,
  isRemix = false,
}: VideoFormFieldsProps) => {
  const texts = useTexts(videoTexts)
  const change = (values: Partial<VideoForm>) => onChange({ ...form, ...values })
  const addImages = (files: File[]) => change({ images: [...form.images, ...readImages(files)] })

  /** Why a choice is impossible, and a button that switches to the model that makes it. */
  const explain = (choice: string, wanted: VideoForm): ReactNode => {
    const other = findAlternative(offers, wanted)
    if (other === undefined || isRemix) return texts.noModelMakes(choice)
    if (makers.length > 1) return texts.needsModel(choice, other.model.id)
    const target = fitForm(wanted, other)
    const currency = other.model.prices[0]?.currency ?? ''
    const price = formatMoney(estimatePrice(other.model, readCosting(target)), currency)
    return (
      <>
        {texts.needsModel(choice, other.model.id)}{' '}
        <button type="button" className="link" onClick={() => onChange(target)}>
          {texts.switchThen(price)}
        </button>
      </>
    )
  }

  const sizes = new Map<string, Size>()
  for (const one of isRemix ? [offer] : [offer, ...offers])
    for (const size of one.sizes) if (!sizes.has(formatSize(size))) sizes.set(formatSize(size), size)
  const ratio = ({ width, height }: Size) => width / height
  const sizeChoices: Choice<string>[] = [...sizes]
    .toSorted(
      ([, left], [, right]) =>
        left.width * left.height - right.width * right.height || ratio(right) - ratio(left),
    )
    .map(([value, size]) => ({
      value,
      label: <SizeLabel size={size} />,
      ...(!makers.some((one) => findSize(one, size) !== undefined) && {
        reason: explain(
          formatSize(size),
          nearestForm(offers, { ...form, width: size.width, height: size.height }),
        ),
      }),
    }))
  const allSeconds = [...new Set(offers.flatMap(({ seconds }) => seconds ?? []))].toSorted((a, b) => a - b)
  const secondsChoices: Choice<string>[] = allSeconds.map((value) => ({
    value: String(value),
    label: String(value),
    ...(!makers.some((one) => makesSeconds(one, value)) && {
      reason: explain(texts.secondsText(value), nearestForm(offers, { ...form, seconds: value })),
    }),
  }))
  const range = texts.secondsRange(String(offer.minSeconds), String(offer.maxSeconds))
  const hasWatermark = !(offer.isFamilyA && offer.endpoint === taskPath)
  const isStyleWrong = form.style !== '' && !/^[A-Za-z0-9_-]{1,64}$/.test(form.style)
  return (
    <div className={styles['fields']}>
      {children}
      <PromptField value={form.prompt} onChange={(prompt) => change({ prompt })} onImages={addImages} />
      {!isRemix && (
        <ImageField offer={offer} images={form.images} onChange={(images) => change({ images })} />
      )}
      {sizeChoices.length > 0 && (
        <ChoiceField
          label={texts.size}
          choices={sizeChoices}
          value={formatSize(form)}
          onChange={(chosen) => {
            const size = sizes.get(chosen)
            if (size !== undefined) change({ width: size.width, height: size.height })
          }}
        />
      )}
      {!isRemix &&
        (offer.seconds === undefined ? (
          <TextField
            label={texts.seconds}
            range={range}
            type="number"
            unit="s"
            value={Number.isNaN(form.seconds) ? '' : String(form.seconds)}
            onChange={(value) => change({ seconds: value === '' ? Number.NaN : Number(value) })}
            {...(!makesSeconds(offer, form.seconds) && { error: texts.secondsWrong(range) })}
          />
        ) : (
          <ChoiceField
            label={texts.seconds}
            choices={secondsChoices}
            value={String(form.seconds)}
            onChange={(value) => change({ seconds: Number(value) })}
          />
        ))}
      {!isRemix && (
        <details className={styles['more']}>
          <summary>{texts.moreOptions}</summary>
          <div className={styles['options']}>
            <SwitchField
              isSelected={offer.sound === 'always' || (offer.sound === 'optional' && form.hasSound)}
              isDisabled={offer.sound !== 'optional'}
              onChange={(hasSound) => change({ hasSound })}
            >
              {texts.sound}
              {offer.sound !== 'optional' && (
                <span className="muted small-text">{texts.isFixed(offer.model.id)}</span>
              )}
            </SwitchField>
            {hasWatermark && (
              <SwitchField isSelected={form.hasWatermark} onChange={(isOn) => change({ hasWatermark: isOn })}>
                {texts.watermark}
              </SwitchField>
            )}
            {!offer.isFamilyA && (
              <SwitchField isSelected={form.isPrivate} onChange={(isPrivate) => change({ isPrivate })}>
                {texts.isPrivate}
              </SwitchField>
            )}
            {offer.isFamilyA && offer.endpoint === taskPath && (
              <SwitchField isSelected={form.enhances} onChange={(enhances) => change({ enhances })}>
                {texts.enhance}
              </SwitchField>
            )}
            {!offer.isFamilyA && offer.endpoint !== taskPath && (
              <TextField
                label={texts.style}
                help={texts.styleHelp}
                value={form.style}
                onChange={(style) => change({ style })}
                {...(isStyleWrong && { error: texts.styleWrong })}
              />
            )}
          </div>
        </details>
      )}
    </div>
  )
}

/** The wanted values if some model makes them together, otherwise with what a model that makes the new one makes. */
const nearestForm = (offers: Offer[], wanted: VideoForm): VideoForm => {
  if (findAlternative(offers, wanted) !== undefined) return wanted
  const bySize = offers.find((offer) => findSize(offer, wanted) !== undefined)
  const bySeconds = offers.find((offer) => makesSeconds(offer, wanted.seconds))
  const other = bySize ?? bySeconds
  return other === undefined ? wanted : { ...fitForm(wanted, other), model: wanted.model }
}
