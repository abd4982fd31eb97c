/** Reference images: dropped, pasted or chosen, with a preview and a role. */
import { ImagePlus, X } from 'lucide-react'
import { useId, useState, type DragEvent } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { imageBytesMax, type FormImage } from './form.ts'
import { taskPath, type ImageRole, type Offer } from './offers.ts'
import { videoTexts } from './texts.ts'

import styles from './image-field.module.css'

const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

/** The files that can be used, with previews. */
export const readImages = (files: Iterable<File>): FormImage[] =>
  [...files]
    .filter(({ type, size }) => imageTypes.includes(type) && size <= imageBytesMax)
    .map((file) => ({
      id: crypto.randomUUID(),
      file,
      name: file.name === '' ? `image.${file.type.slice('image/'.length)}` : file.name,
      url: URL.createObjectURL(file),
    }))

interface ImageFieldProps {
  offer: Offer
  images: FormImage[]
  onChange: (images: FormImage[]) => void
}

export const ImageField = ({ offer, images, onChange }: ImageFieldProps) => {
  const texts = useTexts(videoTexts)
  const id = useId()
  const [isOver, setOver] = useState(false)
  const [hasRefused, setRefused] = useState(false)
  const { model, maxImages, minImages, roles, endpoint } = offer
  const add = (files: Iterable<File>) => {
    const all = [...files]
    const read = readImages(all)
    setRefused(read.length < all.length)
    if (read.length > 0) onChange([...images, ...read])
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    add(event.dataTransfer.files)
  }
  const remove = (image: FormImage) => {
    URL.revokeObjectURL(image.url)
    onChange(images.filter((other) => other !== image))
  }
  const hasRoles = endpoint === taskPath && roles.length > 1
  const error = hasRefused
    ? texts.imageKind
    : images.length > maxImages
      ? maxImages === 0
        ? texts.noImages(model.id)
        : texts.manyImages(model.id, maxImages)
      : undefined
  if (maxImages === 0 && images.length === 0)
    return (
      <div className={styles['field']}>
        <span className="medium">{texts.images}</span>
        <p className="muted small-text">{texts.noImages(model.id)}</p>
      </div>
    )
  return (
    <div className={styles['field']} role="group" aria-labelledby={`${id}-label`}>
      <div className={styles['head']}>
        <span id={`${id}-label`}>{texts.images}</span>
        <span className={styles['range']}>
          {minImages > images.length ? texts.fewImages(model.id) : texts.imagesRange(maxImages)}
        </span>
      </div>
      <ul className={styles['grid']}>
        {images.map((image, index) => {
          const role = image.role ?? roles[Math.min(index, roles.length - 1)]
          return (
            <li key={image.id} className={styles['image']} data-is-over={index >= maxImages || undefined}>
              <img src={image.url} alt={texts.imageNumber(index + 1)} />
              <div className={styles['remove']}>
                <Button
                  size="small"
                  isIcon
                  icon={<X />}
                  label={texts.imageRemove(image.name)}
                  onPress={() => remove(image)}
                />
              </div>
              {hasRoles && role !== undefined ? (
                <SelectField
                  label={texts.imageRole(image.name)}
                  isHiddenLabel
                  isSmall
                  options={roles.map((value) => ({ value, label: texts.roles[value] }))}
                  value={role}
                  onChange={(chosen: ImageRole) =>
                    onChange(images.map((other) => (other === image ? { ...other, role: chosen } : other)))
                  }
                />
              ) : (
                <span className={styles['role']}>{role === undefined ? image.name : texts.roles[role]}</span>
              )}
            </li>
          )
        })}
        {images.length < maxImages && (
          <li>
            {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- files are dropped here; the keyboard uses the input */}
            <label
              className={styles['add']}
              data-is-over={isOver || undefined}
              onDragOver={(event) => {
                event.preventDefault()
                setOver(true)
              }}
              onDragLeave={() => setOver(false)}
              onDrop={drop}
            >
              <ImagePlus aria-hidden />
              {texts.imagesAdd}
              <input
                type="file"
                className="visually-hidden"
                accept={imageTypes.join(',')}
                multiple={maxImages > 1}
                onChange={(event) => {
                  add(event.target.files ?? [])
                  event.target.value = ''
                }}
              />
            </label>
          </li>
        )}
      </ul>
      {error !== undefined && (
        <p className={styles['error']} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
