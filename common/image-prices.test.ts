import { dearestImagePrice, imageName, imagePrice, isImageName, isImagePriceName } from "./image-prices.ts";

const DALL_E_3 = { output: 4n, images: { "standard/1024x1024": 4n, "standard/1024x1792": 8n, "hd/1024x1024": 8n, "hd/1024x1792": 12n } };
const DALL_E_2 = { output: 20n, images: { "256x256": 16n, "512x512": 18n, "1024x1024": 20n } };
const GPT_IMAGE = { output: 50n, images: { "low/1024x1024": 1n, "high/1024x1024": 16n, "high/1024x1536": 25n } };

test.each([
  [{ size: "1024x1792", quality: "hd" }, "hd/1024x1792"],
  [{ size: "1024x1792" }, "1024x1792"],
  [{ quality: "HD" }, "hd"],
  [{ size: "auto", quality: "auto" }, "auto/auto"],
  [{ size: "a b", quality: 7 }, undefined],
  [{}, undefined],
])("%j is named %s", (given, name) => {
  expect(imageName(given)).toBe(name);
  expect(name === undefined || isImageName(name)).toBe(true);
});

test.each([
  [DALL_E_3, "hd/1024x1792", 12n, 12n],
  [DALL_E_3, "1024x1792", 8n, 8n],
  [DALL_E_3, "hd", 8n, 8n],
  [DALL_E_3, undefined, 4n, 4n],
  [DALL_E_3, "auto/auto", 4n, 12n],
  [DALL_E_3, "auto/1024x1024", 4n, 8n],
  [DALL_E_2, "256x256", 16n, 16n],
  [DALL_E_2, "standard/512x512", 18n, 18n],
  // A size without a price of its own costs the base price.
  [DALL_E_2, "128x128", 20n, 20n],
  // No usual quality among the prices: the provider chooses, and the base price counts where its answer does not say what it chose.
  [GPT_IMAGE, undefined, 50n, 50n],
  [{ ...GPT_IMAGE, output: 2n }, "1024x1024", 2n, 16n],
  [{ ...GPT_IMAGE, output: 2n }, "high", 16n, 16n],
  [{ ...GPT_IMAGE, output: 2n }, undefined, 2n, 25n],
  [{ output: 3n }, "hd/1024x1024", 3n, 3n],
])("%#: %j as %s costs %s, and at most %s", (prices, image, price, most) => {
  expect(imagePrice(prices, image)).toBe(price);
  expect(dearestImagePrice(prices, image)).toBe(most);
});

test.each(["1024x1024", "hd/1024x1024"])("a price can be set for %s", (name) => expect(isImagePriceName(name)).toBe(true));
test.each(["hd", "auto/1024x1024", "HD/1024x1024", "1024-x-1024", "a/b/1024x1024", ""])("a price cannot be set for %s", (name) =>
  expect(isImagePriceName(name)).toBe(false),
);
