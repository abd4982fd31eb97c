/** The models used last as a list, and all others in a table. */
import { lazy, Suspense, useState } from 'react'
import { Label } from 'react-aria-components/Label'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import { formatMoney } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { Tag } from '../../../ui/status.tsx'
import { readCosting, type VideoForm } from '../form.ts'
import { lowestPrice, type Offer } from '../offers.ts'
import { videoTexts, type VideoTexts } from '../texts.ts'
import { readLastUsed } from './models-query.ts'

import styles from './model-picker.module.css'

const ModelTable = lazy(async () => ({ default: (await import('./model-table.tsx')).ModelTable }))

const shownMax = 3

/** One line about what the model makes. */
const describeOffer = (offer: Offer, texts: VideoTexts): string =>
  [
    texts.secondsRange(String(offer.minSeconds), String(offer.maxSeconds)),
    texts.soundOf[offer.sound],
    ...(offer.minImages > 0 ? [texts.needsImage] : []),
  ].join(' · ')

/** The last used, filled up with those that make the most. The chosen one is always among them. */
const chooseShown = (offers: Offer[], chosen: string): Offer[] => {
  const used = readLastUsed()
  const rank = ({ model }: Offer) => {
    const place = used.indexOf(model.id)
    return place === -1 ? used.length : place
  }
  const choices = ({ seconds, sizes }: Offer) => (seconds?.length ?? 2) + sizes.length
  const sorted = offers.toSorted(
    (left, right) =>
      rank(left) - rank(right) || left.minImages - right.minImages || choices(right) - choices(left),
  )
  const shown = sorted.slice(0, shownMax)
  const missing = offers.find(
    ({ model }) => model.id === chosen && !shown.some((one) => one.model.id === chosen),
  )
  return missing === undefined ? shown : [...shown.slice(0, shownMax - 1), missing]
}

interface ModelPickerProps {
  offers: Offer[]
  form: VideoForm
  onChoose: (offer: Offer) => void
}

export const ModelPicker = ({ offers, form, onChoose }: ModelPickerProps) => {
  const texts = useTexts(videoTexts)
  const [isOpen, setOpen] = useState(false)
  const choose = (id: string) => {
    const offer = offers.find(({ model }) => model.id === id)
    if (offer !== undefined) onChoose(offer)
  }
  return (
    <>
      <RadioGroup value={form.model} onChange={choose} className={styles['picker'] ?? ''}>
        <div className={styles['head']}>
          <Label>{texts.model}</Label>
          <button type="button" className="link" onClick={() => setOpen(true)}>
            {texts.allModels(offers.length)}
          </button>
        </div>
        <div className={styles['list']}>
          {chooseShown(offers, form.model).map((offer) => {
            const { model } = offer
            const price = lowestPrice(model)
            return (
              <Radio key={model.id} value={model.id} className={styles['option'] ?? ''}>
                <span className={styles['dot']} aria-hidden />
                <span className={styles['what']}>
                  <span className="row">
                    <span className="medium ellipsis">{model.id}</span>
                    {model.state === 'deprecated' && (
                      <Tag color="amber">{texts.deprecated(model.shutdown_date)}</Tag>
                    )}
                  </span>
                  <span className="muted small-text">{model.description ?? describeOffer(offer, texts)}</span>
                </span>
                {price !== undefined && (
                  <span className="nowrap">
                    <span className="medium">{formatMoney(price.unit_micros, price.currency)}</span>
                    <span className="muted">{texts.perUnit(price.unit)}</span>
                  </span>
                )}
              </Radio>
            )
          })}
        </div>
      </RadioGroup>
      {isOpen && (
        <Suspense>
          <ModelTable
            offers={offers}
            chosen={form.model}
            costing={readCosting(form)}
            onClose={() => setOpen(false)}
            onChoose={(offer) => {
              onChoose(offer)
              setOpen(false)
            }}
          />
        </Suspense>
      )}
    </>
  )
}
